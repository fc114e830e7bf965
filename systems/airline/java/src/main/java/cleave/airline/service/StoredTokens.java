package cleave.airline.service;

import cleave.airline.domain.Session;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/** Random tokens: a unit that gets one asks for the stored session. */
public final class StoredTokens implements Tokens {
  private final SessionStore store;
  private final Duration life;
  private final Clock clock;
  private final RandomId ids = new RandomId();

  public StoredTokens(SessionStore store, Duration life, Clock clock) {
    this.store = store;
    this.life = life;
    this.clock = clock;
  }

  @Override
  public Issued issue(String login) {
    Instant expires = clock.instant().plus(life).truncatedTo(ChronoUnit.MILLIS);
    Issued issued = new Issued(ids.next(), new Session(login, expires));
    store.put(issued.token(), issued.session());
    return issued;
  }

  @Override
  public Optional<Session> find(String token) {
    Optional<Session> session = store.get(token);
    if (session.isPresent() && !clock.instant().isBefore(session.get().expires())) {
      store.remove(token);
      return Optional.empty();
    }
    return session;
  }

  @Override
  public void revoke(String token) {
    store.remove(token);
  }
}
