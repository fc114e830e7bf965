package cleave.airline.web;

import cleave.airline.domain.Booking;
import cleave.airline.service.BookingService;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.SecurityContext;
import jakarta.ws.rs.core.StreamingOutput;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/** Books flights, lists and cancels bookings. */
@Path("/")
@Produces("application/json")
public final class BookingsResource {
  private final BookingService bookings;

  public BookingsResource(BookingService bookings) {
    this.bookings = bookings;
  }

  @POST
  @Path("bookings")
  @WithSession
  public Response book(@Context SecurityContext asking, Wanted wanted) {
    List<Booking> booked = bookings.book(asking.getUserPrincipal().getName(), wanted.flights());
    return Response.status(Response.Status.CREATED).entity(new Booked(booked)).build();
  }

  @DELETE
  @Path("bookings/{id}")
  @WithSession
  public void cancel(@Context SecurityContext asking, @PathParam("id") String id) {
    bookings.cancel(asking.getUserPrincipal().getName(), id);
  }

  @GET
  @Path("customers/{login}/bookings")
  @WithSession
  public Booked list(@Context SecurityContext asking, @PathParam("login") String login) {
    return new Booked(bookings.list(asking.getUserPrincipal().getName(), login));
  }

  /** All bookings that are stored, for an audit. */
  @GET
  @Path("internal/bookings")
  @Produces("application/x-ndjson")
  public StreamingOutput all() {
    return body ->
        bookings.forEach(
            booking -> {
              try {
                body.write(Json.bytes(booking));
                body.write('\n');
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
  }

  record Wanted(List<String> flights) {}

  record Booked(List<Booking> bookings) {}
}
