package cleave.airline.web;

import cleave.airline.domain.Problem;
import cleave.airline.domain.Session;
import cleave.airline.domain.Sessions;
import jakarta.annotation.Priority;
import jakarta.ws.rs.Priorities;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.SecurityContext;
import java.security.Principal;

/** Finds the session of a request, and makes its login the principal of the request. */
@WithSession
@Priority(Priorities.AUTHENTICATION)
final class SessionFilter implements ContainerRequestFilter {
  private static final String SCHEME = "Bearer ";

  private final Sessions sessions;

  SessionFilter(Sessions sessions) {
    this.sessions = sessions;
  }

  @Override
  public void filter(ContainerRequestContext request) {
    Session session =
        sessions
            .find(token(request.getHeaderString(HttpHeaders.AUTHORIZATION)))
            .orElseThrow(() -> new Problem(Problem.Kind.NO_SESSION, "the token has no session"));
    request.setSecurityContext(new LoggedIn(session::login));
  }

  /** The token in a header Authorization; throws a problem if there is none. */
  static String token(String authorization) {
    if (authorization == null || !authorization.startsWith(SCHEME)) {
      throw new Problem(Problem.Kind.NO_SESSION, "the header Authorization has no Bearer token");
    }
    return authorization.substring(SCHEME.length());
  }

  private record LoggedIn(Principal getUserPrincipal) implements SecurityContext {
    @Override
    public boolean isUserInRole(String role) {
      return false;
    }

    @Override
    public boolean isSecure() {
      return false;
    }

    @Override
    public String getAuthenticationScheme() {
      return "Bearer";
    }
  }
}
