package cleave.airline.service;

import static org.junit.jupiter.api.Assertions.assertEquals;

import cleave.airline.domain.Account;
import cleave.airline.domain.Address;
import cleave.airline.domain.Customer;
import cleave.airline.domain.Flight;
import java.time.LocalDate;
import java.util.List;
import org.junit.jupiter.api.Test;

class SeedTest {
  private final Seed seed = new Seed(12_346, 3, 2, 3, LocalDate.of(2026, 2, 28));

  @Test
  void hasFlightsOfEverySegmentAndDay() {
    List<Flight> flights = seed.allFlights().toList();
    assertEquals(3 * 2 * 2 * 3, flights.size());
    assertEquals(
        new Flight("AMS-ATH-20260228-1", "AMS", "ATH", "2026-02-28T06:00:00Z", 71, 5710),
        flights.get(0));
    // The hours of the second and third: 6 + 16/3 and 6 + 32/3, rounded down.
    assertEquals("2026-02-28T11:00:00Z", flights.get(1).departs());
    assertEquals("2026-03-01T16:00:00Z", flights.get(5).departs());
    assertEquals(
        new Flight("ATL-ATH-20260301-3", "ATL", "ATH", "2026-03-01T16:00:00Z", 85, 5850),
        flights.get(flights.size() - 1));
  }

  @Test
  void hasCustomers() {
    Account last = seed.allAccounts().skip(12_345).findFirst().orElseThrow();
    Address address = new Address("12345 Main Street", "Springfield", "12345", "US");
    assertEquals(
        new Customer("c12345", "First 12345", "Last 12345", "+1 555 2345", 34_500, address),
        last.customer());
    Account first = seed.allAccounts().findFirst().orElseThrow();
    assertEquals("+1 555 0000", first.customer().phone());
    assertEquals("00000", first.customer().address().postcode());
  }

  @Test
  void hashesPasswordsAsAllImplementationsDo() {
    // printf 'c1:password-1' | sha256sum
    assertEquals(
        "f37a76c117239b87b7da51d0093703f71c1ac9d9e28798d5f74da9f360aba296",
        CustomerService.passwordHash("c1", "password-1"));
  }
}
