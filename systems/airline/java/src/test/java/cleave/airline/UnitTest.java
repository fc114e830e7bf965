package cleave.airline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A unit that runs in this process, over HTTP. The suite of all implementations (systems/airline/
 * behaviour) checks the contract; this class tests what that suite cannot bring about.
 */
class UnitTest {
  private static final String FLIGHT = "AMS-ATH-20260101-1";

  @TempDir private Path folder;

  @Test
  void aStopKeepsWhatIsStored() throws Exception {
    String login = "{\"login\":\"c1\",\"password\":\"password-1\"}";
    Unit unit = new Unit(settings());
    String begun = send(unit, "POST", "/login", "", login, 200);
    String token = new ObjectMapper().readTree(begun).get("token").asText();
    send(unit, "POST", "/bookings", token, "{\"flights\":[\"" + FLIGHT + "\"]}", 201);
    unit.stop();
    unit = new Unit(settings());
    String found = send(unit, "GET", "/customers/c1/bookings", token, "", 200);
    unit.stop();
    assertTrue(found.contains(FLIGHT), found);
  }

  private Settings settings() throws Exception {
    return Settings.of(
        Map.of(
            "AIRLINE_UNIT", "monolith",
            "AIRLINE_AIRPORTS", "2",
            "AIRLINE_DATA", folder.toString(),
            "CLEAVE_ADDRESS", "127.0.0.1:0"));
  }

  private static String send(
      Unit unit, String method, String path, String token, String body, int status)
      throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + unit.port() + path))
            .header("Authorization", "Bearer " + token)
            .method(method, BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
    assertEquals(status, answer.statusCode(), answer.body());
    return answer.body();
  }
}
