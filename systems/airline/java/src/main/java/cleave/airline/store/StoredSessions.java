package cleave.airline.store;

import cleave.airline.domain.Session;
import cleave.airline.service.SessionStore;
import java.time.Instant;
import java.util.Optional;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.type.StringDataType;

/** Sessions by their tokens. */
public final class StoredSessions implements SessionStore {
  private static final RecordType<Session> TYPE =
      new RecordType<>(
          new Session[0],
          s -> s.login().length(),
          (buffer, s) -> {
            RecordType.put(buffer, s.login());
            buffer.putVarLong(s.expires().toEpochMilli());
          },
          buffer ->
              new Session(
                  RecordType.text(buffer), Instant.ofEpochMilli(DataUtils.readVarLong(buffer))));

  // More than one, so that expired sessions do not pile up.
  private static final int SWEPT_AT_ONCE = 4;

  private final Database database;
  private final MVMap<String, Session> sessions;

  /** The times at which sessions expire, as 16 digits, and their tokens, in this order. */
  private final MVMap<String, String> expiries;

  public StoredSessions(Database database) {
    this.database = database;
    this.sessions = database.open("sessions", TYPE);
    this.expiries = database.open("expiries", StringDataType.INSTANCE);
  }

  /** The entry of a removed session stays in expiries until it would expire. */
  @Override
  public void put(String token, Session session) {
    database.change(
        () -> {
          sweep();
          expiries.put(expiry(session.expires(), token), "");
          return sessions.put(token, session);
        });
  }

  private void sweep() {
    String now = expiry(Instant.now(), "");
    for (int n = 0; n < SWEPT_AT_ONCE; n++) {
      String first = expiries.firstKey();
      if (first == null || first.compareTo(now) > 0) {
        return;
      }
      expiries.remove(first);
      sessions.remove(first.substring(now.length()));
    }
  }

  private static String expiry(Instant expires, String token) {
    return "%016d".formatted(expires.toEpochMilli()) + token;
  }

  @Override
  public Optional<Session> get(String token) {
    return Optional.ofNullable(sessions.get(token));
  }

  @Override
  public void remove(String token) {
    database.change(() -> sessions.remove(token));
  }
}
