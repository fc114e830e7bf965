package cleave.airline.service;

import cleave.airline.domain.Session;
import java.util.Optional;

/** Sessions by their tokens. A write that has returned survives the end of this process. */
public interface SessionStore {

  /** Stores a session. Expired sessions are removed sooner or later. */
  void put(String token, Session session);

  Optional<Session> get(String token);

  void remove(String token);
}
