package cleave.airline.calls;

import cleave.airline.domain.Problem;
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
import java.util.concurrent.TimeUnit;

/** Another unit, over one connection that all calls share. */
public final class Callee implements AutoCloseable {
  private static final int TIMEOUT_SECONDS = 5;

  private final String name;
  private final ManagedChannel channel;

  /**
   * @param name for people
   * @param address host:port
   */
  public Callee(String name, String address) {
    this.name = name;
    this.channel =
        OkHttpChannelBuilder.forTarget("dns:///" + address)
            .usePlaintext()
            .proxyDetector(server -> null)
            .build();
  }

  /** How a method without streams is called. */
  static MethodDescriptor<Fields, Fields> method(String service, String name) {
    return MethodDescriptor.<Fields, Fields>newBuilder()
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(service, name))
        .setRequestMarshaller(new Marshaller())
        .setResponseMarshaller(new Marshaller())
        .build();
  }

  /** Calls once. */
  Fields ask(MethodDescriptor<Fields, Fields> method, Fields question) {
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

  /** What a status other than OK means: the unit is away, or something is wrong with it. */
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
