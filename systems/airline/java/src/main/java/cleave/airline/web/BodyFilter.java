package cleave.airline.web;

import cleave.airline.domain.Problem;
import jakarta.annotation.Priority;
import jakarta.ws.rs.Priorities;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import java.io.ByteArrayInputStream;
import java.io.IOException;

/** Reads the whole body, up to a limit, before other filters see the request. */
@Priority(Priorities.AUTHENTICATION - 100)
final class BodyFilter implements ContainerRequestFilter {

  /** The largest body, in bytes. */
  static final int LARGEST = 16 * 1024;

  /** How much more of a refused body is read: a client that still sends would miss the answer. */
  private static final int DRAINED = 1024 * 1024;

  @Override
  public void filter(ContainerRequestContext request) throws IOException {
    byte[] body = request.getEntityStream().readNBytes(LARGEST + 1);
    if (body.length > LARGEST) {
      request.getEntityStream().readNBytes(DRAINED);
      throw new Problem(Problem.Kind.TOO_LARGE, "the body has more than " + LARGEST + " bytes");
    }
    request.setEntityStream(new ByteArrayInputStream(body));
  }
}
