package cleave.airline.web;

import cleave.airline.service.AuthService;
import cleave.airline.service.Tokens;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;

/** Login and logout. */
@Path("/")
@Produces("application/json")
public final class SessionsResource {
  private final AuthService auth;

  public SessionsResource(AuthService auth) {
    this.auth = auth;
  }

  @POST
  @Path("login")
  public Begun login(Credentials credentials) {
    Tokens.Issued issued = auth.login(credentials.login(), credentials.password());
    return new Begun(issued.token(), issued.session().expires().toString());
  }

  @POST
  @Path("logout")
  @WithSession
  public void logout(@HeaderParam("Authorization") String authorization) {
    auth.logout(SessionFilter.token(authorization));
  }

  record Credentials(String login, String password) {}

  record Begun(String token, String expires) {}
}
