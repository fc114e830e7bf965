package cleave.airline.store;

import cleave.airline.domain.Session;
import cleave.airline.service.SessionStore;
import java.time.Instant;
import java.util.Optional;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.MVMap;

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

  private final Database database;
  private final MVMap<String, Session> sessions;

  public StoredSessions(Database database) {
    this.database = database;
    this.sessions = database.open("sessions", TYPE);
  }

  @Override
  public void put(String token, Session session) {
    database.change(() -> sessions.put(token, session));
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
