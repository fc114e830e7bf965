package cleave.airline.web;

import cleave.airline.domain.Customers;
import cleave.airline.domain.Problem;
import cleave.airline.domain.Text;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;

/** What auth asks customers for. */
@Path("/internal/check")
public final class InternalCheckResource {
  private final Customers customers;

  public InternalCheckResource(Customers customers) {
    this.customers = customers;
  }

  /** Refuses wrong credentials; answers nothing where they are right. */
  @POST
  public void check(SessionsResource.Credentials credentials) {
    Text.check("login", credentials.login());
    Text.check("password", credentials.password());
    if (!customers.accepts(credentials.login(), credentials.password())) {
      throw new Problem(Problem.Kind.WRONG_CREDENTIALS, "no customer has this login and password");
    }
  }
}
