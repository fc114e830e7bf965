package cleave.airline.store;

import cleave.airline.domain.Booking;
import cleave.airline.service.BookingStore;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.type.StringDataType;

/** Bookings by their ids, with an index by customer and flight. */
public final class StoredBookings implements BookingStore {
  private static final RecordType<Booking> TYPE =
      new RecordType<>(
          new Booking[0],
          b -> b.id().length() + b.login().length() + b.flight().length() + b.booked().length(),
          (buffer, b) -> RecordType.put(buffer, b.id(), b.login(), b.flight(), b.booked()),
          buffer ->
              new Booking(
                  RecordType.text(buffer),
                  RecordType.text(buffer),
                  RecordType.text(buffer),
                  RecordType.text(buffer)));

  private final Database database;
  private final MVMap<String, Booking> bookings;

  /** Ids by login, a line feed, which no login has, and flight. */
  private final MVMap<String, String> held;

  public StoredBookings(Database database) {
    this.database = database;
    this.bookings = database.open("bookings", TYPE);
    this.held = database.open("held", StringDataType.INSTANCE);
  }

  @Override
  public Optional<String> add(List<Booking> wanted) {
    return database.change(
        () -> {
          for (Booking booking : wanted) {
            if (held.containsKey(key(booking))) {
              return Optional.of(booking.flight());
            }
          }
          for (Booking booking : wanted) {
            bookings.put(booking.id(), booking);
            held.put(key(booking), booking.id());
          }
          return Optional.empty();
        });
  }

  @Override
  public Optional<Booking> get(String id) {
    return Optional.ofNullable(bookings.get(id));
  }

  @Override
  public boolean remove(String id) {
    return database.change(
        () -> {
          Booking removed = bookings.remove(id);
          if (removed != null) {
            held.remove(key(removed));
          }
          return removed != null;
        });
  }

  @Override
  public List<Booking> of(String login) {
    String prefix = login + "\n";
    List<Booking> found = new ArrayList<>();
    Iterator<String> keys = held.keyIterator(prefix);
    while (keys.hasNext()) {
      String key = keys.next();
      if (!key.startsWith(prefix)) {
        break;
      }
      // Another request may cancel it between the two reads.
      Optional.ofNullable(held.get(key)).map(bookings::get).ifPresent(found::add);
    }
    found.sort(Comparator.comparing(Booking::booked).thenComparing(Booking::id));
    return found;
  }

  @Override
  public void forEach(Consumer<Booking> visit) {
    bookings.values().forEach(visit);
  }

  private static String key(Booking booking) {
    return booking.login() + "\n" + booking.flight();
  }
}
