package cleave.airline.calls;

import cleave.airline.domain.Flight;
import cleave.airline.domain.Other;
import cleave.airline.domain.Problem;
import cleave.airline.domain.Session;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.okhttp.OkHttpChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Calls another unit over gRPC, on one connection that all calls share. airline.proto has the
 * numbers of the fields.
 */
public final class Callee implements Other, AutoCloseable {
  static final MethodDescriptor<Fields, Fields> FIND_SESSION = method("Auth/FindSession");
  static final MethodDescriptor<Fields, Fields> CHECK_PASSWORD = method("Customers/CheckPassword");
  static final MethodDescriptor<Fields, Fields> FIND_FLIGHT = method("Flights/FindFlight");

  private static final int TIMEOUT_SECONDS = 5;

  private final String name;
  private final ManagedChannel channel;

  /**
   * @param name for messages
   * @param address host:port
   */
  public Callee(String name, String address) {
    this.name = name;
    this.channel =
        OkHttpChannelBuilder.forTarget("dns:///" + address)
            .usePlaintext()
            .proxyDetector(server -> null) // ignore the proxies of the environment
            .build();
  }

  /** Describes a method with one request and one answer. */
  private static MethodDescriptor<Fields, Fields> method(String name) {
    return MethodDescriptor.<Fields, Fields>newBuilder()
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName("cleave.airline.v1." + name)
        .setRequestMarshaller(new Marshaller())
        .setResponseMarshaller(new Marshaller())
        .build();
  }

  @Override
  public Optional<Session> find(String token) {
    if (!TOKEN.matcher(token).matches()) {
      return Optional.empty();
    }
    return ask(FIND_SESSION, new Fields().put(1, token))
        .message(1)
        .map(session -> new Session(session.text(1), Instant.parse(session.text(2))));
  }

  @Override
  public boolean accepts(String login, String password) {
    return ask(CHECK_PASSWORD, new Fields().put(1, login).put(2, password)).number(1) != 0;
  }

  @Override
  public Optional<Flight> flight(String id) {
    return ask(FIND_FLIGHT, new Fields().put(1, id))
        .message(1)
        .map(f -> new Flight(f.text(1), f.text(2), f.text(3), f.text(4), f.number(5), f.number(6)));
  }

  /** Makes one call, without a retry. */
  private Fields ask(MethodDescriptor<Fields, Fields> method, Fields question) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    try {
      return ClientCalls.blockingUnaryCall(channel, method, options, question);
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() == Status.Code.UNAVAILABLE) {
        channel.resetConnectBackoff(); // the next call tries anew: pauses would grow to two minutes
      }
      throw failure(e);
    }
  }

  /** The problem for a status other than OK: the unit does not answer, or it has failed. */
  private Problem failure(StatusRuntimeException e) {
    return switch (e.getStatus().getCode()) {
      case UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED ->
          new Problem(Problem.Kind.UNAVAILABLE, name + " does not answer", e);
      default -> new Problem(Problem.Kind.INTERNAL, name + " failed: " + e.getStatus(), e);
    };
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }

  private static final class Marshaller implements MethodDescriptor.Marshaller<Fields> {
    @Override
    public InputStream stream(Fields message) {
      return new ByteArrayInputStream(message.write());
    }

    @Override
    public Fields parse(InputStream stream) {
      try {
        return Fields.read(stream.readAllBytes());
      } catch (IOException e) {
        throw new UncheckedIOException("the answer of another unit is unreadable", e);
      }
    }
  }
}
