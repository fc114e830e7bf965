package cleave.airline.calls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import cleave.airline.domain.Problem;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.ServerCalls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The problems for calls of another unit that fail. */
class CalleeTest {
  @Test
  void distinguishMissingUnitsFromFailures() throws IOException {
    Set<Status.Code> away =
        EnumSet.of(Status.Code.UNAVAILABLE, Status.Code.DEADLINE_EXCEEDED, Status.Code.CANCELLED);
    Map<Status.Code, Problem.Kind> kinds = new EnumMap<>(Status.Code.class);
    Map<Status.Code, Problem.Kind> want = new EnumMap<>(Status.Code.class);
    for (Status.Code code : EnumSet.complementOf(EnumSet.of(Status.Code.OK))) {
      want.put(code, away.contains(code) ? Problem.Kind.UNAVAILABLE : Problem.Kind.INTERNAL);
      Server server = answering(code.toStatus());
      try (Callee callee = new Callee("customers", "127.0.0.1:" + server.getPort())) {
        Problem problem = assertThrows(Problem.class, () -> callee.accepts("c1", "password-1"));
        kinds.put(code, problem.kind());
      } finally {
        server.shutdownNow();
      }
    }
    assertEquals(want, kinds);
  }

  /** A unit that answers every call with this status. */
  private static Server answering(Status status) throws IOException {
    ServerServiceDefinition service =
        ServerServiceDefinition.builder("cleave.airline.v1.Customers")
            .addMethod(
                Callee.CHECK_PASSWORD,
                ServerCalls.asyncUnaryCall(
                    (question, answer) -> answer.onError(status.asRuntimeException())))
            .build();
    return OkHttpServerBuilder.forPort(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            InsecureServerCredentials.create())
        .addService(service)
        .build()
        .start();
  }
}
