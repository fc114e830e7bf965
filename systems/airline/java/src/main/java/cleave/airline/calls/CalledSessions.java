package cleave.airline.calls;

import cleave.airline.domain.Session;
import cleave.airline.domain.Sessions;
import io.grpc.MethodDescriptor;
import java.time.Instant;
import java.util.Optional;
import java.util.regex.Pattern;

/** Asks auth for each session, each time. */
public final class CalledSessions implements Sessions {
  static final MethodDescriptor<Fields, Fields> FIND =
      Callee.method("cleave.airline.v1.Auth", "FindSession");

  /** What auth's tokens look like; anything else need not be asked for. */
  private static final Pattern TOKEN = Pattern.compile("[0-9a-f]{32}");

  private final Callee auth;

  public CalledSessions(Callee auth) {
    this.auth = auth;
  }

  @Override
  public Optional<Session> find(String token) {
    if (!TOKEN.matcher(token).matches()) {
      return Optional.empty();
    }
    return auth.ask(FIND, new Fields().put(1, token))
        .message(1)
        .map(session -> new Session(session.text(1), Instant.parse(session.text(2))));
  }

  static Fields answer(Sessions sessions, Fields question) {
    Fields answer = new Fields();
    sessions
        .find(question.text(1))
        .ifPresent(
            s -> answer.put(1, new Fields().put(1, s.login()).put(2, s.expires().toString())));
    return answer;
  }
}
