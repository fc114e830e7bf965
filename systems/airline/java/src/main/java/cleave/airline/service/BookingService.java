package cleave.airline.service;

import cleave.airline.domain.Booking;
import cleave.airline.domain.Flights;
import cleave.airline.domain.Problem;
import cleave.airline.domain.Text;
import java.time.Clock;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Books flights, lists and cancels bookings. */
public final class BookingService {
  private static final DateTimeFormatter BOOKED =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  private final Flights flights;
  private final BookingStore store;
  private final Clock clock;
  private final RandomId ids = new RandomId();

  public BookingService(Flights flights, BookingStore store, Clock clock) {
    this.flights = flights;
    this.store = store;
    this.clock = clock;
  }

  /** Books one flight, or two different ones, all or none. */
  public List<Booking> book(String login, List<String> wanted) {
    if (wanted == null || wanted.isEmpty() || wanted.size() > 2) {
      throw new Problem(Problem.Kind.BAD_REQUEST, "flights has not one or two ids");
    }
    wanted.forEach(id -> Text.check("flights", id));
    if (new HashSet<>(wanted).size() < wanted.size()) {
      throw new Problem(Problem.Kind.BAD_REQUEST, "flights has the same id twice");
    }
    for (String id : wanted) {
      if (!Flights.ID.matcher(id).matches() || flights.flight(id).isEmpty()) {
        throw new Problem(Problem.Kind.UNKNOWN_FLIGHT, "there is no flight " + id);
      }
    }
    String now = BOOKED.format(clock.instant());
    List<Booking> bookings =
        wanted.stream().map(id -> new Booking(ids.next(), login, id, now)).toList();
    Optional<String> booked = store.add(bookings);
    if (booked.isPresent()) {
      throw new Problem(
          Problem.Kind.ALREADY_BOOKED, "customer " + login + " has flight " + booked.get());
    }
    return bookings;
  }

  /** The bookings of the customer who asks. */
  public List<Booking> list(String asking, String login) {
    Owner.check(asking, login);
    return store.of(login);
  }

  /** Cancels a booking of the customer who asks. */
  public void cancel(String asking, String id) {
    Booking booking = store.get(id).orElseThrow(() -> unknown(id));
    Owner.check(asking, booking.login());
    if (!store.remove(id)) {
      throw unknown(id); // somebody else cancelled it meanwhile
    }
  }

  /** Visits every booking of every customer, for an audit. */
  public void forEach(Consumer<Booking> visit) {
    store.forEach(visit);
  }

  private static Problem unknown(String id) {
    return new Problem(Problem.Kind.UNKNOWN_BOOKING, "there is no booking " + id);
  }
}
