package cleave.airline.domain;

import java.util.Optional;
import java.util.regex.Pattern;

/** Port to the sessions, for every part that needs one. */
public interface Sessions {

  /**
   * The form of auth's tokens. Other units do not ask about other texts, which may not fit in a
   * path.
   */
  Pattern TOKEN = Pattern.compile("[0-9a-f]{32}");

  /** The session of a token; empty if there is none, or it has expired. */
  Optional<Session> find(String token);
}
