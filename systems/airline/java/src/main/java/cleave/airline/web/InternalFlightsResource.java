package cleave.airline.web;

import cleave.airline.domain.Flight;
import cleave.airline.domain.Flights;
import cleave.airline.domain.Problem;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;

/** Answers the requests of bookings to flights. */
@Path("/internal/flights/{id}")
@Produces("application/json")
public final class InternalFlightsResource {
  private final Flights flights;

  public InternalFlightsResource(Flights flights) {
    this.flights = flights;
  }

  @GET
  public Flight find(@PathParam("id") String id) {
    return flights
        .flight(id)
        .orElseThrow(() -> new Problem(Problem.Kind.UNKNOWN_FLIGHT, "there is no flight " + id));
  }
}
