package cleave.airline.web;

import cleave.airline.domain.Booking;
import cleave.airline.service.BookingService;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.SecurityContext;
import java.util.List;

/** Books flights and cancels bookings. */
@Path("/bookings")
@Produces("application/json")
@WithSession
public final class BookingsResource {
  private final BookingService bookings;

  public BookingsResource(BookingService bookings) {
    this.bookings = bookings;
  }

  @POST
  public Response book(@Context SecurityContext asking, Wanted wanted) {
    List<Booking> booked = bookings.book(asking.getUserPrincipal().getName(), wanted.flights());
    return Response.status(Response.Status.CREATED).entity(new Booked(booked)).build();
  }

  @DELETE
  @Path("{id}")
  public void cancel(@Context SecurityContext asking, @PathParam("id") String id) {
    bookings.cancel(asking.getUserPrincipal().getName(), id);
  }

  record Wanted(List<String> flights) {}

  record Booked(List<Booking> bookings) {}
}
