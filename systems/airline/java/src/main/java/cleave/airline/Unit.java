package cleave.airline;

import cleave.airline.calls.Answers;
import cleave.airline.calls.Callee;
import cleave.airline.domain.Customers;
import cleave.airline.domain.Flights;
import cleave.airline.domain.Other;
import cleave.airline.domain.Sessions;
import cleave.airline.mongo.MongoStores;
import cleave.airline.remote.Peer;
import cleave.airline.service.AuthService;
import cleave.airline.service.BookingService;
import cleave.airline.service.CustomerService;
import cleave.airline.service.CustomerStore;
import cleave.airline.service.FlightService;
import cleave.airline.service.FlightStore;
import cleave.airline.service.SignedTokens;
import cleave.airline.service.StoredTokens;
import cleave.airline.service.Stores;
import cleave.airline.service.Tokens;
import cleave.airline.store.Database;
import cleave.airline.web.BookingsResource;
import cleave.airline.web.CustomersResource;
import cleave.airline.web.FlightsResource;
import cleave.airline.web.HttpServer;
import cleave.airline.web.InternalCheckResource;
import cleave.airline.web.InternalFlightsResource;
import cleave.airline.web.InternalSessionsResource;
import cleave.airline.web.SessionsResource;
import com.nimbusds.jose.JOSEException;
import java.net.http.HttpClient;
import java.time.Clock;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** A running part of the airline, or all of it: the only place that connects the parts. */
public final class Unit {
  private final Settings settings;
  private final Clock clock = Clock.systemUTC();
  private final HttpClient client = Peer.client();
  private final Stores stores;
  private final List<Callee> callees = new ArrayList<>();
  private final Answers answers = new Answers();
  private final HttpServer server;

  /** Loads the data that is missing, then serves. */
  public Unit(Settings settings) throws Exception {
    this.settings = settings;
    this.stores =
        settings.database().isPresent()
            ? new MongoStores(settings.database().get())
            : new Database(settings.data());
    Set<Object> resources = new LinkedHashSet<>();
    Sessions sessions =
        switch (settings.part()) {
          case MONOLITH -> {
            CustomerService customers = customers(resources);
            Tokens tokens = auth(customers, resources);
            bookings(flights(resources), resources);
            yield tokens;
          }
          case AUTH -> {
            Tokens tokens = auth(other("customers", settings.customers()), resources);
            resources.add(new InternalSessionsResource(tokens));
            answers.sessions(tokens);
            yield tokens;
          }
          case CUSTOMERS -> {
            CustomerService customers = customers(resources);
            resources.add(new InternalCheckResource(customers));
            answers.customers(customers);
            yield otherSessions();
          }
          case FLIGHTS -> {
            FlightService flights = flights(resources);
            resources.add(new InternalFlightsResource(flights));
            answers.flights(flights);
            yield otherSessions();
          }
          case BOOKINGS -> {
            bookings(other("flights", settings.flights()), resources);
            yield otherSessions();
          }
        };
    this.server =
        new HttpServer(
            settings.address(),
            resources,
            sessions,
            settings.grpc() ? Optional.of(answers) : Optional.empty());
  }

  private Tokens auth(Customers customers, Set<Object> resources) throws JOSEException {
    Tokens tokens =
        settings.sessionKey().isPresent()
            ? signedTokens()
            : new StoredTokens(stores.sessions(), settings.sessionLife(), clock);
    resources.add(new SessionsResource(new AuthService(customers, tokens)));
    return tokens;
  }

  private CustomerService customers(Set<Object> resources) {
    CustomerStore store = stores.customers();
    store.load(settings.seed().allAccounts());
    CustomerService customers = new CustomerService(store);
    resources.add(new CustomersResource(customers));
    return customers;
  }

  private FlightService flights(Set<Object> resources) {
    FlightStore store = stores.flights();
    store.load(settings.seed().allAirports(), settings.seed().allFlights());
    FlightService flights = new FlightService(store);
    resources.add(new FlightsResource(flights));
    return flights;
  }

  private void bookings(Flights flights, Set<Object> resources) {
    resources.add(new BookingsResource(new BookingService(flights, stores.bookings(), clock)));
  }

  /** The sessions for a unit without auth: it checks signed ones itself, or asks auth. */
  private Sessions otherSessions() throws JOSEException {
    return settings.sessionKey().isPresent() ? signedTokens() : other("auth", settings.auth());
  }

  private Other other(String name, Optional<String> address) {
    if (!settings.grpc()) {
      return new Peer(name, address.get(), settings.pool(), client);
    }
    Callee callee = new Callee(name, address.get());
    callees.add(callee);
    return callee;
  }

  private SignedTokens signedTokens() throws JOSEException {
    return new SignedTokens(settings.sessionKey().get(), settings.sessionLife(), clock);
  }

  /** The port that was bound. */
  public int port() {
    return server.port();
  }

  /** Finishes what is under way, then closes the store. */
  public void stop() throws Exception {
    server.stop();
    callees.forEach(Callee::close);
    stores.close();
  }
}
