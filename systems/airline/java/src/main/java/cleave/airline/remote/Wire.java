package cleave.airline.remote;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;

/** JSON between units. A newer unit may say more than this one reads. */
final class Wire {
  private static final JsonMapper MAPPER =
      JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

  private Wire() {}

  static <T> T read(byte[] json, Class<T> type) {
    try {
      return MAPPER.readValue(json, type);
    } catch (IOException e) {
      throw new UncheckedIOException(
          "another unit's " + type.getSimpleName() + " is unreadable", e);
    }
  }

  static byte[] write(Map<String, String> fields) {
    try {
      return MAPPER.writeValueAsBytes(fields);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException("texts can always be written as JSON", e);
    }
  }
}
