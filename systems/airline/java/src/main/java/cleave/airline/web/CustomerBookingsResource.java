package cleave.airline.web;

import cleave.airline.service.BookingService;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.SecurityContext;

/** Lists the bookings of a customer. */
@Path("/customers/{login}/bookings")
@Produces("application/json")
@WithSession
public final class CustomerBookingsResource {
  private final BookingService bookings;

  public CustomerBookingsResource(BookingService bookings) {
    this.bookings = bookings;
  }

  @GET
  public BookingsResource.Booked list(
      @Context SecurityContext asking, @PathParam("login") String login) {
    return new BookingsResource.Booked(bookings.list(asking.getUserPrincipal().getName(), login));
  }
}
