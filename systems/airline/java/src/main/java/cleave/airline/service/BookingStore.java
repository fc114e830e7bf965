package cleave.airline.service;

import cleave.airline.domain.Booking;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Bookings by their ids. A write that has returned survives the end of this process. */
public interface BookingStore {

  /**
   * Stores all of these bookings, which are of one customer. If the customer has one of the flights
   * already, it stores none and returns the id of that flight.
   */
  Optional<String> add(List<Booking> bookings);

  Optional<Booking> get(String id);

  /** Removes a booking; false if there was none. */
  boolean remove(String id);

  /** The bookings of a customer, by the time of booking, then by id. */
  List<Booking> of(String login);

  /** Visits every booking, in any order. */
  void forEach(Consumer<Booking> visit);
}
