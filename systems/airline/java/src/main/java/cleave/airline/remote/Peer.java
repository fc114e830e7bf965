package cleave.airline.remote;

import cleave.airline.domain.Problem;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/**
 * Another unit. What was sent is never repeated: the client opens another connection only where it
 * knows that nothing of the request was carried out, or that it only reads.
 */
public final class Peer {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final String name;
  private final String base;
  private final HttpClient client;
  private final boolean pool;

  /**
   * @param name for people
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

  HttpResponse<byte[]> get(String path) {
    return send(request(path).GET().build());
  }

  HttpResponse<byte[]> post(String path, byte[] json) {
    return send(
        request(path)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofByteArray(json))
            .build());
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path)).timeout(TIMEOUT);
    return pool ? request : request.header("Connection", "close");
  }

  private HttpResponse<byte[]> send(HttpRequest request) {
    try {
      return client.send(request, BodyHandlers.ofByteArray());
    } catch (IOException e) {
      throw unavailable("does not answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unavailable("was not waited for", e);
    }
  }

  /** The problem with an answer that the contract between units does not have. */
  Problem unexpected(HttpResponse<byte[]> answer) {
    if (answer.statusCode() == 503) {
      return unavailable("cannot answer now", null);
    }
    return new Problem(Problem.Kind.INTERNAL, name + " answered " + answer.statusCode());
  }

  private Problem unavailable(String what, Exception cause) {
    return new Problem(Problem.Kind.UNAVAILABLE, name + " " + what, cause);
  }
}
