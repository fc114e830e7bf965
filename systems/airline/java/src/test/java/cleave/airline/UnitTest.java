package cleave.airline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Units that run in this process, over HTTP. The suite of all implementations (systems/airline/
 * behaviour) holds them to the contract; here stands what it cannot bring about.
 */
class UnitTest {
  private static final String FLIGHT = "AMS-ATH-20260101-1";

  private final HttpClient client = HttpClient.newHttpClient();
  private final Map<String, String> addresses = new HashMap<>();
  private final Deque<Unit> running = new ArrayDeque<>();

  @TempDir private Path folder;

  @BeforeAll
  static void allowConnectionHeader() { // as the program's script does
    System.setProperty("jdk.httpclient.allowRestrictedHeaders", "connection");
  }

  @AfterEach
  void stop() throws Exception {
    while (!running.isEmpty()) {
      running.pop().stop();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"on", "off"})
  void servicesBookTogether(String pool) throws Exception {
    start("customers", Map.of());
    start("auth", Map.of());
    start("customers", Map.of()); // again: now it knows where auth is
    start("flights", Map.of());
    start("bookings", Map.of("AIRLINE_POOL", pool));
    String token = login("auth");
    for (int status : new int[] {201, 409}) {
      HttpResponse<String> booked = book("bookings", token);
      assertEquals(status, booked.statusCode(), booked.body());
    }
    // The unit customers of which auth knows is the first one, which knows no auth.
    assertEquals(200, send("customers", "GET", "/customers/c1", token, "").statusCode());
  }

  @ParameterizedTest
  @ValueSource(strings = {"http", "grpc"})
  void refusalsOfOtherUnitsAreTold(String calls) throws Exception {
    Map<String, String> over = Map.of("AIRLINE_CALLS", calls);
    start("customers", over);
    start("auth", over);
    start("flights", over);
    start("bookings", over);
    String wrong = "{\"login\":\"c1\",\"password\":\"x\"}";
    assertEquals(401, send("auth", "POST", "/login", "", wrong).statusCode());
    String nowhere = "{\"flights\":[\"AMS-ATH-20260101-9\"]}";
    String token = login("auth");
    assertEquals(404, send("bookings", "POST", "/bookings", token, nowhere).statusCode());
    String other = token.replace(token.charAt(0), token.charAt(0) == '0' ? '1' : '0');
    assertEquals(401, book("bookings", other).statusCode());
    assertEquals(201, book("bookings", token).statusCode());
  }

  @ParameterizedTest
  @ValueSource(strings = {"http", "grpc"})
  void whatNeedsAUnitThatIsGoneIsUnavailable(String calls) throws Exception {
    Map<String, String> over = Map.of("AIRLINE_CALLS", calls);
    start("customers", over);
    start("auth", over);
    start("flights", over);
    start("bookings", over);
    String token = login("auth");
    Unit bookings = running.pop();
    running.pop().stop(); // flights
    running.push(bookings);
    HttpResponse<String> refused = book("bookings", token);
    assertEquals(503, refused.statusCode(), refused.body());
    JsonNode problem = new ObjectMapper().readTree(refused.body());
    assertEquals("/problems/unavailable", problem.get("type").asText());
    assertTrue(problem.get("detail").asText().startsWith("flights does not answer"));
    assertEquals(
        "{\"bookings\":[]}", send("bookings", "GET", "/customers/c1/bookings", token, "").body());
  }

  @Test
  void signedTokensNeedNoAuth() throws Exception {
    Path key = folder.resolve("key");
    Files.writeString(key, "2a".repeat(32));
    Map<String, String> signed = Map.of("AIRLINE_SESSIONS", "token", "AIRLINE_KEY", key.toString());
    start("customers", signed);
    start("auth", signed);
    String token = login("auth");
    running.pop().stop(); // auth
    assertEquals(200, send("customers", "GET", "/customers/c1", token, "").statusCode());
    assertEquals(401, send("customers", "GET", "/customers/c1", token + "x", "").statusCode());
  }

  @Test
  void aStopLetsRequestsFinishAndKeepsWhatIsStored() throws Exception {
    start("monolith", Map.of());
    String token = login("monolith");
    assertEquals(201, book("monolith", token).statusCode());
    running.pop().stop();
    start("monolith", Map.of());
    HttpResponse<String> found = send("monolith", "GET", "/customers/c1/bookings", token, "");
    assertTrue(found.body().contains(FLIGHT), found.body());
  }

  /** Starts a unit at a free port, which later ones know. */
  private void start(String part, Map<String, String> settings) throws Exception {
    Map<String, String> environment = new HashMap<>(settings);
    environment.put("AIRLINE_UNIT", part);
    environment.put("AIRLINE_AIRPORTS", "2");
    environment.put("AIRLINE_DATA", folder.resolve(part + running.size()).toString());
    environment.put("CLEAVE_ADDRESS", "127.0.0.1:0");
    for (String peer : new String[] {"auth", "customers", "flights"}) {
      environment.put(
          "CLEAVE_ADDRESS_" + peer.toUpperCase(Locale.ROOT),
          addresses.getOrDefault(peer, "127.0.0.1:1"));
    }
    Unit unit = new Unit(Settings.of(environment));
    running.push(unit);
    addresses.put(part, "127.0.0.1:" + unit.port());
  }

  private String login(String part) throws Exception {
    HttpResponse<String> begun =
        send(part, "POST", "/login", "", "{\"login\":\"c1\",\"password\":\"password-1\"}");
    assertEquals(200, begun.statusCode(), begun.body());
    return new ObjectMapper().readTree(begun.body()).get("token").asText();
  }

  private HttpResponse<String> book(String part, String token) throws Exception {
    return send(part, "POST", "/bookings", token, "{\"flights\":[\"" + FLIGHT + "\"]}");
  }

  private HttpResponse<String> send(
      String part, String method, String path, String token, String body) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create("http://" + addresses.get(part) + path))
            .header("Authorization", "Bearer " + token)
            .method(method, BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }
}
