package cleave.airline.remote;

import cleave.airline.domain.Flight;
import cleave.airline.domain.Other;
import cleave.airline.domain.Problem;
import cleave.airline.domain.Session;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * Another unit, which is called over HTTP. The client sends a request again, on another connection,
 * only if nothing of it was carried out, or if it only reads.
 */
public final class Peer implements Other {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  /** A newer unit may say more than this one reads. */
  private static final JsonMapper JSON =
      JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

  private final String name;
  private final String base;
  private final HttpClient client;
  private final boolean pool;

  /**
   * @param name for messages
   * @param address host:port
   * @param pool whether connections stay open for further requests
   */
  public Peer(String name, String address, boolean pool, HttpClient client) {
    this.name = name;
    this.base = "http://" + address + "/internal/";
    this.client = client;
    this.pool = pool;
  }

  /** The client that all peers of a unit share. */
  public static HttpClient client() {
    return HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .connectTimeout(TIMEOUT)
        .build();
  }

  @Override
  public Optional<Session> find(String token) {
    return TOKEN.matcher(token).matches()
        ? get("sessions/" + token, Sent.class).map(Sent::session)
        : Optional.empty();
  }

  private record Sent(String login, String expires) {
    Session session() {
      return new Session(login, Instant.parse(expires));
    }
  }

  @Override
  public boolean accepts(String login, String password) {
    String credentials =
        JSON.createObjectNode().put("login", login).put("password", password).toString();
    HttpResponse<byte[]> answer =
        send(
            request("check")
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(credentials)));
    return switch (answer.statusCode()) {
      case 204 -> true;
      case 401 -> false;
      default -> throw unexpected(answer);
    };
  }

  @Override
  public Optional<Flight> flight(String id) {
    return get("flights/" + id, Flight.class);
  }

  private <T> Optional<T> get(String path, Class<T> type) {
    HttpResponse<byte[]> answer = send(request(path).GET());
    return switch (answer.statusCode()) {
      case 200 -> {
        try {
          yield Optional.of(JSON.readValue(answer.body(), type));
        } catch (IOException e) {
          throw new UncheckedIOException(name + " answered what is unreadable", e);
        }
      }
      case 404 -> Optional.empty();
      default -> throw unexpected(answer);
    };
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path)).timeout(TIMEOUT);
    return pool ? request : request.header("Connection", "close");
  }

  private HttpResponse<byte[]> send(HttpRequest.Builder request) {
    try {
      return client.send(request.build(), BodyHandlers.ofByteArray());
    } catch (IOException e) {
      throw unavailable("does not answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unavailable("was not waited for", e);
    }
  }

  /** The problem for an answer that the contract between units does not allow. */
  private Problem unexpected(HttpResponse<byte[]> answer) {
    if (answer.statusCode() == 503) {
      return unavailable("cannot answer now", null);
    }
    return new Problem(Problem.Kind.INTERNAL, name + " answered " + answer.statusCode());
  }

  private Problem unavailable(String what, Exception cause) {
    return new Problem(Problem.Kind.UNAVAILABLE, name + " " + what, cause);
  }
}
