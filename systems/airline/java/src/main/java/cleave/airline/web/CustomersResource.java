package cleave.airline.web;

import cleave.airline.domain.Contact;
import cleave.airline.domain.Customer;
import cleave.airline.service.CustomerService;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.SecurityContext;

/** What customers see and change of themselves. */
@Path("/customers/{login}")
@Produces("application/json")
@WithSession
public final class CustomersResource {
  private final CustomerService customers;

  public CustomersResource(CustomerService customers) {
    this.customers = customers;
  }

  @GET
  public Customer get(@Context SecurityContext asking, @PathParam("login") String login) {
    return customers.get(asking.getUserPrincipal().getName(), login);
  }

  @PUT
  public Customer change(
      @Context SecurityContext asking, @PathParam("login") String login, Contact contact) {
    return customers.change(asking.getUserPrincipal().getName(), login, contact);
  }
}
