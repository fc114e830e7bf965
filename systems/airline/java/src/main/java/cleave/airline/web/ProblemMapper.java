package cleave.airline.web;

import cleave.airline.domain.Problem;
import jakarta.ws.rs.NotAllowedException;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.ExceptionMapper;
import java.util.Arrays;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;

/** Answers every exception with a problem document. Only unexpected ones are logged. */
final class ProblemMapper implements ExceptionMapper<Throwable> {
  private static final Logger LOG = Logger.getLogger(ProblemMapper.class.getName());

  @Override
  public Response toResponse(Throwable thrown) {
    if (thrown instanceof Problem problem && problem.kind() != Problem.Kind.INTERNAL) {
      return ProblemDocument.response(problem.kind(), problem.getMessage());
    }
    if (thrown instanceof NotAllowedException refused) {
      return wrongMethod(refused);
    }
    if (thrown instanceof WebApplicationException refused) {
      int status = refused.getResponse().getStatus();
      if (status == 404) {
        return ProblemDocument.response(Problem.Kind.UNKNOWN_PATH, "there is no such path");
      }
      if (status < 500) {
        return ProblemDocument.response(Problem.Kind.BAD_REQUEST, "the request cannot be read");
      }
    }
    LOG.log(Level.SEVERE, "a request could not be carried out", thrown);
    return ProblemDocument.response(Problem.Kind.INTERNAL, "see the log of the airline");
  }

  private static Response wrongMethod(NotAllowedException refused) {
    String allowed =
        Arrays.stream(refused.getResponse().getHeaderString(HttpHeaders.ALLOW).split(","))
            .map(String::strip)
            .filter(method -> !method.equals("HEAD") && !method.equals("OPTIONS"))
            .sorted()
            .collect(Collectors.joining(", "));
    return Response.fromResponse(
            ProblemDocument.response(Problem.Kind.WRONG_METHOD, "allowed here: " + allowed))
        .header(HttpHeaders.ALLOW, allowed)
        .build();
  }
}
