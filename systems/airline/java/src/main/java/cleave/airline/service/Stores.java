package cleave.airline.service;

/** The stores of a unit, which are opened and closed together. */
public interface Stores extends AutoCloseable {

  SessionStore sessions();

  CustomerStore customers();

  FlightStore flights();

  BookingStore bookings();

  @Override
  void close();
}
