package cleave.airline.domain;

/**
 * A seat of a customer on a flight.
 *
 * @param id 32 hexadecimal digits
 * @param booked RFC 3339 with milliseconds, UTC, so that texts are in the order of time
 */
public record Booking(String id, String login, String flight, String booked) {}
