package cleave.airline.web;

import cleave.airline.service.BookingService;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.StreamingOutput;
import java.io.IOException;
import java.io.UncheckedIOException;

/** All bookings that are stored, for an audit. */
@Path("/internal/bookings")
@Produces("application/x-ndjson")
public final class InternalBookingsResource {
  private final BookingService bookings;

  public InternalBookingsResource(BookingService bookings) {
    this.bookings = bookings;
  }

  @GET
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
}
