package cleave.airline.calls;

import cleave.airline.domain.Flight;
import cleave.airline.domain.Flights;
import io.grpc.MethodDescriptor;
import java.util.Optional;

/** Asks flights for a flight. */
public final class CalledFlights implements Flights {
  static final MethodDescriptor<Fields, Fields> FIND =
      Callee.method("cleave.airline.v1.Flights", "FindFlight");

  private final Callee flights;

  public CalledFlights(Callee flights) {
    this.flights = flights;
  }

  @Override
  public Optional<Flight> find(String id) {
    return flights
        .ask(FIND, new Fields().put(1, id))
        .message(1)
        .map(f -> new Flight(f.text(1), f.text(2), f.text(3), f.text(4), f.number(5), f.number(6)));
  }

  static Fields answer(Flights flights, Fields question) {
    Fields answer = new Fields();
    flights
        .find(question.text(1))
        .ifPresent(
            f ->
                answer.put(
                    1,
                    new Fields()
                        .put(1, f.id())
                        .put(2, f.from())
                        .put(3, f.to())
                        .put(4, f.departs())
                        .put(5, f.minutes())
                        .put(6, f.price())));
    return answer;
  }
}
