package cleave.airline.service;

import cleave.airline.domain.Account;
import cleave.airline.domain.Address;
import cleave.airline.domain.Customer;
import cleave.airline.domain.Flight;
import java.time.LocalDate;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The sizes of the data that an airline begins with. All implementations derive the same data from
 * them.
 *
 * @param airports number of airports, the first of {@link #AIRPORTS}
 * @param flights of each segment on each day
 */
public record Seed(int customers, int airports, int days, int flights, LocalDate firstDay) {

  public static final List<String> AIRPORTS =
      List.of(
          "AMS ATH ATL BKK BOM CDG DEL DFW DXB FCO FRA GRU HKG HND IST JFK LAX LHR MAD MEX MIA MUC"
              .concat(" NRT ORD PEK SFO SIN SYD YYZ ZRH")
              .split(" "));

  /** The format of the day in the ids of flights. */
  public static final DateTimeFormatter DAY = DateTimeFormatter.BASIC_ISO_DATE;

  public List<String> allAirports() {
    return AIRPORTS.subList(0, airports);
  }

  /** All flights of all segments, which are any two different airports. */
  public Stream<Flight> allFlights() {
    return IntStream.range(0, airports)
        .boxed()
        .flatMap(
            i ->
                IntStream.range(0, airports)
                    .filter(j -> j != i)
                    .boxed()
                    .flatMap(j -> segment(i, j)));
  }

  private Stream<Flight> segment(int from, int to) {
    return IntStream.range(0, days)
        .mapToObj(firstDay::plusDays)
        .flatMap(day -> IntStream.rangeClosed(1, flights).mapToObj(k -> flight(from, to, day, k)));
  }

  private Flight flight(int from, int to, LocalDate day, int k) {
    String start = AIRPORTS.get(from);
    String end = AIRPORTS.get(to);
    String id = start + "-" + end + "-" + DAY.format(day) + "-" + k;
    String departs = "%sT%02d:00:00Z".formatted(day, 6 + (k - 1) * 16 / flights);
    int minutes = 60 + (7 * from + 11 * to) % 600;
    return new Flight(id, start, end, departs, minutes, 5000 + 10 * minutes);
  }

  public Stream<Account> allAccounts() {
    return IntStream.range(0, customers).mapToObj(Seed::account);
  }

  private static Account account(int n) {
    String login = "c" + n;
    Address address =
        new Address(n + " Main Street", "Springfield", "%05d".formatted(n % 100000), "US");
    Customer customer =
        new Customer(
            login,
            "First " + n,
            "Last " + n,
            "+1 555 %04d".formatted(n % 10000),
            100 * (n % 1000),
            address);
    return new Account(customer, CustomerService.passwordHash(login, "password-" + n));
  }
}
