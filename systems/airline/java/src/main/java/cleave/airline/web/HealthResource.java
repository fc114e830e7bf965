package cleave.airline.web;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;

/** Answers once the unit serves: its data is loaded before the server starts. */
@Path("/health")
public final class HealthResource {

  @GET
  @Produces("text/plain")
  public String health() {
    return "ok\n";
  }
}
