package cleave.airline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cleave.airline.mongo.MongoStores;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SettingsTest {
  private static final Map<String, String> BOOKINGS =
      Map.of(
          "AIRLINE_UNIT", "bookings",
          "AIRLINE_DATA", "/data",
          "CLEAVE_ADDRESS", "127.0.0.1:80",
          "CLEAVE_ADDRESS_AUTH", "127.0.0.1:81",
          "CLEAVE_ADDRESS_FLIGHTS", "flights:82");

  @Test
  void haveDefaults() throws Exception {
    Settings settings = Settings.of(BOOKINGS);
    assertEquals(Settings.Part.BOOKINGS, settings.part());
    assertEquals(80, settings.address().getPort());
    assertEquals(Optional.of("127.0.0.1:81"), settings.auth());
    assertEquals(Optional.of("flights:82"), settings.flights());
    assertEquals(200, settings.seed().customers());
    assertEquals(LocalDate.of(2026, 1, 1), settings.seed().firstDay());
    assertEquals(1800, settings.sessionLife().toSeconds());
    assertTrue(settings.pool());
  }

  @Test
  void nameWrongValues() {
    for (List<String> wrong :
        List.of(
            List.of("AIRLINE_DATA", ""),
            List.of("CLEAVE_ADDRESS", "80"),
            List.of("CLEAVE_ADDRESS_FLIGHTS", ""),
            List.of("CLEAVE_ADDRESS_AUTH", "a:b"))) {
      Map<String, String> environment = new HashMap<>(BOOKINGS);
      environment.put(wrong.get(0), wrong.get(1));
      Settings.WrongValue thrown =
          assertThrows(Settings.WrongValue.class, () -> Settings.of(environment));
      String start = "%s is \"%s\": want ".formatted(wrong.get(0), wrong.get(1));
      assertTrue(thrown.getMessage().startsWith(start), thrown.getMessage());
    }
  }

  @Test
  void haveADatabaseWhoseUrlIsSecret() throws Exception {
    Map<String, String> environment = new HashMap<>(BOOKINGS);
    environment.put("AIRLINE_STORE", "mongodb");
    environment.remove("AIRLINE_DATA"); // it is not needed
    String url = "mongodb://user:secret@127.0.0.1:1/";
    environment.put("CLEAVE_SERVICE_DATABASE", url);
    assertEquals(Optional.of(url), Settings.of(environment).database());
    environment.put("CLEAVE_SERVICE_DATABASE", "postgres://user:secret@127.0.0.1");
    Exception thrown = assertThrows(Settings.WrongValue.class, () -> Settings.of(environment));
    assertFalse(thrown.getMessage().contains("secret"), thrown.getMessage());
    thrown = assertThrows(Exception.class, () -> new MongoStores("mongodb://user:secret@:x:y/"));
    assertFalse(thrown.toString().contains("secret"), thrown.toString());
    assertNull(thrown.getCause());
  }

  @Test
  void haveAKeyForSignedSessions(@TempDir Path folder) throws Exception {
    Map<String, String> environment = new HashMap<>(BOOKINGS);
    environment.put("AIRLINE_SESSIONS", "token");
    environment.remove("CLEAVE_ADDRESS_AUTH"); // it is not needed
    Path key = folder.resolve("key");
    environment.put("AIRLINE_KEY", key.toString());
    Files.writeString(key, "01".repeat(31));
    assertThrows(Settings.WrongValue.class, () -> Settings.of(environment));
    Files.writeString(key, "00".repeat(31) + "fF\n");
    byte[] want = new byte[32];
    want[31] = -1;
    assertArrayEquals(want, Settings.of(environment).sessionKey().orElseThrow());
  }
}
