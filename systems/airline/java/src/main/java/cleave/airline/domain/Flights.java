package cleave.airline.domain;

import java.util.Optional;
import java.util.regex.Pattern;

/** Finds flights for bookings: in this unit, or in the one that has the flights. */
public interface Flights {
  Pattern ID = Pattern.compile("[A-Z]{3}-[A-Z]{3}-[0-9]{8}-[0-9]{1,3}");

  /** Finds a flight by its id, which has the form of {@link #ID}. */
  Optional<Flight> flight(String id);
}
