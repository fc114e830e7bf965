package cleave.airline.domain;

import java.time.Instant;

/** A login of a customer, and the time until which it is valid. */
public record Session(String login, Instant expires) {}
