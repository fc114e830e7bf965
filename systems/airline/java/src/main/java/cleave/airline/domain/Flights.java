package cleave.airline.domain;

import java.util.Optional;
import java.util.regex.Pattern;

/** Port to the part of the flights, for bookings. */
public interface Flights {
  Pattern ID = Pattern.compile("[A-Z]{3}-[A-Z]{3}-[0-9]{8}-[0-9]{1,3}");

  /** A flight by its id, which has the form of {@link #ID}. */
  Optional<Flight> flight(String id);
}
