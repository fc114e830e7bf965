package cleave.airline.domain;

import java.time.Instant;

/** A login that counts until it expires. */
public record Session(String login, Instant expires) {}
