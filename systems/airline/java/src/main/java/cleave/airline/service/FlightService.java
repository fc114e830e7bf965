package cleave.airline.service;

import cleave.airline.domain.Flight;
import cleave.airline.domain.Flights;
import cleave.airline.domain.Problem;
import java.time.LocalDate;
import java.util.List;
import java.util.Optional;

/** Finds flights. */
public final class FlightService implements Flights {
  private final FlightStore store;

  public FlightService(FlightStore store) {
    this.store = store;
  }

  @Override
  public Optional<Flight> flight(String id) {
    return store.get(id);
  }

  /** The flights there and, where a day to return is given, back. */
  public Found search(String from, String to, LocalDate date, Optional<LocalDate> back) {
    for (String airport : List.of(from, to)) {
      if (!store.hasAirport(airport)) {
        throw new Problem(Problem.Kind.UNKNOWN_AIRPORT, "there is no airport " + airport);
      }
    }
    return new Found(
        store.find(from, to, date), back.map(day -> store.find(to, from, day)).orElse(List.of()));
  }

  /** What a search has found. */
  public record Found(List<Flight> outbound, List<Flight> inbound) {}
}
