package cleave.airline.domain;

import java.util.Optional;

/** Port: what every part that needs a session asks. */
public interface Sessions {

  /** The session of a token; empty if there is none, or it has expired. */
  Optional<Session> find(String token);
}
