package cleave.airline.service;

import cleave.airline.domain.Flight;
import java.time.LocalDate;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Airports and flights, which do not change once they are loaded. */
public interface FlightStore {
  /** Flights of a day and segment in the order of their numbers: 2 before 10. */
  Comparator<Flight> BY_NUMBER =
      Comparator.<Flight>comparingInt(f -> f.id().length()).thenComparing(Flight::id);

  /** Stores the airports and flights that the airline begins with, once in the store's life. */
  void load(List<String> airports, Stream<Flight> flights);

  boolean hasAirport(String code);

  Optional<Flight> get(String id);

  /** The flights of a day from one airport to another, in the order of their numbers. */
  List<Flight> find(String from, String to, LocalDate date);
}
