package cleave.airline.remote;

import cleave.airline.domain.Flight;
import cleave.airline.domain.Flights;
import java.net.http.HttpResponse;
import java.util.Optional;

/** Asks flights for a flight. */
public final class RemoteFlights implements Flights {
  private final Peer flights;

  public RemoteFlights(Peer flights) {
    this.flights = flights;
  }

  @Override
  public Optional<Flight> find(String id) {
    HttpResponse<byte[]> answer = flights.get("flights/" + id);
    return switch (answer.statusCode()) {
      case 200 -> Optional.of(Wire.read(answer.body(), Flight.class));
      case 404 -> Optional.empty();
      default -> throw flights.unexpected(answer);
    };
  }
}
