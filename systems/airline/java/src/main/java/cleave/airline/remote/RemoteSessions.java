package cleave.airline.remote;

import cleave.airline.domain.Session;
import cleave.airline.domain.Sessions;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.Optional;
import java.util.regex.Pattern;

/** Asks auth for each session, each time. */
public final class RemoteSessions implements Sessions {
  /** What auth's tokens look like; anything else need not be asked for, nor put into a path. */
  private static final Pattern TOKEN = Pattern.compile("[0-9a-f]{32}");

  private final Peer auth;

  public RemoteSessions(Peer auth) {
    this.auth = auth;
  }

  @Override
  public Optional<Session> find(String token) {
    if (!TOKEN.matcher(token).matches()) {
      return Optional.empty();
    }
    HttpResponse<byte[]> answer = auth.get("sessions/" + token);
    return switch (answer.statusCode()) {
      case 200 -> {
        Sent sent = Wire.read(answer.body(), Sent.class);
        yield Optional.of(new Session(sent.login(), Instant.parse(sent.expires())));
      }
      case 404 -> Optional.empty();
      default -> throw auth.unexpected(answer);
    };
  }

  private record Sent(String login, String expires) {}
}
