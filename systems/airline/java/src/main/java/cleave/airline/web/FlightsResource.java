package cleave.airline.web;

import cleave.airline.domain.Problem;
import cleave.airline.domain.Text;
import cleave.airline.service.FlightService;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.UriInfo;
import java.time.LocalDate;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.DateTimeParseException;
import java.time.format.ResolverStyle;
import java.time.temporal.ChronoField;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Finds flights. */
@Path("/flights")
@Produces("application/json")
@WithSession
public final class FlightsResource {
  // Strict: no 30 February. The year of a pattern could have a sign and more than four digits.
  private static final DateTimeFormatter DATE =
      new DateTimeFormatterBuilder()
          .appendValue(ChronoField.YEAR, 4)
          .appendPattern("-MM-dd")
          .toFormatter(Locale.ROOT)
          .withResolverStyle(ResolverStyle.STRICT);

  private final FlightService flights;

  public FlightsResource(FlightService flights) {
    this.flights = flights;
  }

  @GET
  public FlightService.Found search(@Context UriInfo uri) {
    String from = Text.check("from", once(uri, "from").orElse(null));
    String to = Text.check("to", once(uri, "to").orElse(null));
    LocalDate date = date("date", Text.check("date", once(uri, "date").orElse(null)));
    Optional<LocalDate> back = once(uri, "return").map(text -> date("return", text));
    return flights.search(from, to, date, back);
  }

  private static Optional<String> once(UriInfo uri, String name) {
    List<String> values = uri.getQueryParameters().getOrDefault(name, List.of());
    if (values.size() > 1) {
      throw new Problem(Problem.Kind.BAD_REQUEST, name + " is there more than once");
    }
    return values.stream().findFirst();
  }

  private static LocalDate date(String name, String value) {
    try {
      return LocalDate.parse(Text.check(name, value), DATE);
    } catch (DateTimeParseException e) {
      throw new Problem(
          Problem.Kind.BAD_REQUEST, name + " is " + value + ", not a day like 2026-01-31", e);
    }
  }
}
