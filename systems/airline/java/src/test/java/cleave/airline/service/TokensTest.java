package cleave.airline.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cleave.airline.domain.Session;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class TokensTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final Duration LIFE = Duration.ofMinutes(1);
  private static final byte[] KEY = new byte[32];

  @Test
  void storedTokensEnd() {
    Sessions store = new Sessions();
    Tokens.Issued issued = new StoredTokens(store, LIFE, at(NOW)).issue("c1");
    assertEquals(NOW.plus(LIFE), issued.session().expires());
    StoredTokens almost = new StoredTokens(store, LIFE, at(NOW.plusMillis(59_999)));
    assertEquals(Optional.of(issued.session()), almost.find(issued.token()));
    StoredTokens after = new StoredTokens(store, LIFE, at(NOW.plus(LIFE)));
    assertEquals(Optional.empty(), after.find(issued.token()));
    assertTrue(store.all.isEmpty(), "an expired session stays stored");

    Tokens.Issued another = almost.issue("c1");
    almost.revoke(another.token());
    assertEquals(Optional.empty(), almost.find(another.token()));
  }

  @Test
  void signedTokensAreBelievedUntilTheyExpire() throws Exception {
    Tokens.Issued issued = new SignedTokens(KEY, LIFE, at(NOW)).issue("c1");
    SignedTokens almost = new SignedTokens(KEY, LIFE, at(NOW.plusMillis(59_999)));
    assertEquals(Optional.of(new Session("c1", NOW.plus(LIFE))), almost.find(issued.token()));
    SignedTokens after = new SignedTokens(KEY, LIFE, at(NOW.plus(LIFE)));
    assertEquals(Optional.empty(), after.find(issued.token()));
  }

  private static Clock at(Instant now) {
    return Clock.fixed(now, ZoneOffset.UTC);
  }

  /** Sessions in memory. */
  private static final class Sessions implements SessionStore {
    private final Map<String, Session> all = new HashMap<>();

    @Override
    public void put(String token, Session session) {
      all.put(token, session);
    }

    @Override
    public Optional<Session> get(String token) {
      return Optional.ofNullable(all.get(token));
    }

    @Override
    public void remove(String token) {
      all.remove(token);
    }
  }
}
