package cleave.airline.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cleave.airline.domain.Account;
import cleave.airline.domain.Address;
import cleave.airline.domain.Booking;
import cleave.airline.domain.Contact;
import cleave.airline.domain.Flight;
import cleave.airline.domain.Session;
import cleave.airline.service.Seed;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The stores, each closed and opened again between writing and reading. */
class StoresTest {
  private static final LocalDate DAY = LocalDate.of(2026, 1, 1);

  @TempDir private Path folder;

  @Test
  void keepSessions() throws Exception {
    Session session = new Session("c1", Instant.parse("2126-01-01T00:00:00.123Z"));
    try (Database database = new Database(folder)) {
      StoredSessions sessions = new StoredSessions(database);
      sessions.put("a", session);
      sessions.put("b", session);
      sessions.remove("b");
    }
    try (Database database = new Database(folder)) {
      StoredSessions sessions = new StoredSessions(database);
      assertEquals(Optional.of(session), sessions.get("a"));
      assertEquals(Optional.empty(), sessions.get("b"));
    }
  }

  @Test
  void sweepExpiredSessions() throws Exception {
    Instant now = Instant.now();
    try (Database database = new Database(folder)) {
      StoredSessions sessions = new StoredSessions(database);
      for (int n = 0; n < 10; n++) {
        sessions.put("living " + n, new Session("c1", now.plusSeconds(3600)));
      }
      for (int n = 0; n < 9; n++) {
        sessions.put("expired " + n, new Session("c1", now.minusSeconds(1)));
      }
      // Fewer expired sessions are left than one sweep removes.
      sessions.put("new", new Session("c1", now.plusSeconds(60)));
      for (int n = 0; n < 9; n++) {
        assertTrue(sessions.get("living " + n).isPresent());
        assertTrue(sessions.get("expired " + n).isEmpty());
      }
      assertTrue(sessions.get("new").isPresent());
    }
  }

  @Test
  void keepCustomersAndLoadThemOnce() throws Exception {
    Contact contact = new Contact("1", new Address("ü", "€", "😀", "x".repeat(256)));
    Seed seed = new Seed(20, 2, 1, 1, DAY);
    try (Database database = new Database(folder)) {
      StoredCustomers customers = new StoredCustomers(database);
      customers.load(seed.allAccounts());
      assertEquals(contact.address(), customers.change("c7", contact).orElseThrow().address());
      assertEquals(Optional.empty(), customers.change("c20", contact));
    }
    try (Database database = new Database(folder)) {
      StoredCustomers customers = new StoredCustomers(database);
      customers.load(seed.allAccounts());
      List<Account> all = seed.allAccounts().toList();
      assertEquals(Optional.of(all.get(19)), customers.get("c19"));
      Account changed = new Account(all.get(7).customer().with(contact), all.get(7).passwordHash());
      assertEquals(Optional.of(changed), customers.get("c7"));
    }
  }

  @Test
  void keepFlightsInOrder() throws Exception {
    Seed seed = new Seed(1, 3, 3, 11, DAY);
    try (Database database = new Database(folder)) {
      new StoredFlights(database).load(seed.allAirports(), seed.allFlights());
    }
    try (Database database = new Database(folder)) {
      StoredFlights flights = new StoredFlights(database);
      assertTrue(flights.hasAirport("ATL"));
      assertFalse(flights.hasAirport("BKK"));
      List<Flight> wanted =
          seed.allFlights().filter(f -> f.id().startsWith("ATH-ATL-20260102-")).toList();
      assertEquals(11, wanted.size());
      assertEquals(wanted, flights.find("ATH", "ATL", DAY.plusDays(1)));
      assertEquals(List.of(), flights.find("ATH", "ATL", DAY.plusDays(3)));
      assertEquals(Optional.of(wanted.get(10)), flights.get("ATH-ATL-20260102-11"));
    }
  }

  @Test
  void bookAllOrNothing() throws Exception {
    Booking first = new Booking("2", "c1", "F", "2026-01-01T00:00:00.000Z");
    Booking later = new Booking("1", "c1", "G", "2026-01-01T00:00:00.001Z");
    try (Database database = new Database(folder)) {
      StoredBookings bookings = new StoredBookings(database);
      assertEquals(Optional.empty(), bookings.add(List.of(later)));
      assertEquals(Optional.empty(), bookings.add(List.of(first)));
      Booking fresh = new Booking("3", "c1", "H", first.booked());
      Booking twice = new Booking("4", "c1", "F", first.booked());
      assertEquals(Optional.of("F"), bookings.add(List.of(fresh, twice)));
      Booking others = new Booking("5", "c10", "F", first.booked());
      assertEquals(Optional.empty(), bookings.add(List.of(others)));
    }
    try (Database database = new Database(folder)) {
      StoredBookings bookings = new StoredBookings(database);
      assertEquals(List.of(first, later), bookings.of("c1"));
      assertTrue(bookings.remove("2"));
      assertFalse(bookings.remove("2"));
      assertEquals(Optional.empty(), bookings.add(List.of(first)), "a cancelled flight is free");
    }
  }
}
