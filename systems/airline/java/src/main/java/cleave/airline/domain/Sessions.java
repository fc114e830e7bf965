package cleave.airline.domain;

import java.util.Optional;
import java.util.regex.Pattern;

/** Port: what every part that needs a session asks. */
public interface Sessions {

  /** What auth's tokens look like; other units ask for no others, nor put them into a path. */
  Pattern TOKEN = Pattern.compile("[0-9a-f]{32}");

  /** The session of a token; empty if there is none, or it has expired. */
  Optional<Session> find(String token);
}
