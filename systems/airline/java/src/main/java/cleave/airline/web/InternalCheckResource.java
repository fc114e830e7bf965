package cleave.airline.web;

import cleave.airline.domain.Customers;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;

/** Answers auth's requests to customers. */
@Path("/internal/check")
public final class InternalCheckResource {
  private final Customers customers;

  public InternalCheckResource(Customers customers) {
    this.customers = customers;
  }

  /** Refuses wrong credentials; answers nothing where they are right. */
  @POST
  public void check(SessionsResource.Credentials credentials) {
    customers.check(credentials.login(), credentials.password());
  }
}
