package cleave.airline.service;

/** The stores that a unit may use, in one place that is opened and closed. */
public interface Stores extends AutoCloseable {

  SessionStore sessions();

  CustomerStore customers();

  FlightStore flights();

  BookingStore bookings();

  @Override
  void close();
}
