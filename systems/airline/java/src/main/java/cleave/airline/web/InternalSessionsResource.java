package cleave.airline.web;

import cleave.airline.domain.Problem;
import cleave.airline.domain.Session;
import cleave.airline.domain.Sessions;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Response;

/** Answers the requests of other units to auth. */
@Path("/internal/sessions/{token}")
@Produces("application/json")
public final class InternalSessionsResource {
  private final Sessions sessions;

  public InternalSessionsResource(Sessions sessions) {
    this.sessions = sessions;
  }

  /** The session of a token. That there is none is not the caller's fault: 404, not 401. */
  @GET
  public Response find(@PathParam("token") String token) {
    return sessions
        .find(token)
        .map(InternalSessionsResource::found)
        .orElseGet(
            () ->
                Response.fromResponse(
                        ProblemDocument.response(
                            Problem.Kind.NO_SESSION, "the token has no session"))
                    .status(404)
                    .build());
  }

  private static Response found(Session session) {
    return Response.ok(new Found(session.login(), session.expires().toString())).build();
  }

  record Found(String login, String expires) {}
}
