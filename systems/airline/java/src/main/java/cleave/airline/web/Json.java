package cleave.airline.web;

import cleave.airline.domain.Problem;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.type.LogicalType;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.ext.MessageBodyReader;
import jakarta.ws.rs.ext.MessageBodyWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/**
 * Records as JSON, whatever Content-Type says. Bodies are read strictly: all fields, no others, of
 * the right types, in UTF-8, and nothing behind them.
 */
final class Json implements MessageBodyReader<Record>, MessageBodyWriter<Record> {
  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .withCoercionConfig(
              LogicalType.Textual,
              config -> {
                config.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail);
                config.setCoercion(CoercionInputShape.Float, CoercionAction.Fail);
                config.setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail);
              })
          .build();

  @Override
  public boolean isReadable(Class<?> type, Type generic, Annotation[] notes, MediaType media) {
    return type.isRecord();
  }

  @Override
  public Record readFrom(
      Class<Record> type,
      Type generic,
      Annotation[] notes,
      MediaType media,
      MultivaluedMap<String, String> headers,
      InputStream body)
      throws IOException {
    try {
      ByteBuffer bytes = ByteBuffer.wrap(body.readAllBytes());
      Record read =
          MAPPER.readValue(StandardCharsets.UTF_8.newDecoder().decode(bytes).toString(), type);
      if (read == null) {
        throw bad("the body is null, not an object", null);
      }
      return read;
    } catch (CharacterCodingException e) {
      throw bad("the body is not UTF-8", e);
    } catch (JsonMappingException e) {
      // Jackson's own messages would reveal the names of classes.
      String path =
          e.getPath().stream()
              .map(step -> step.getFieldName() == null ? "[]" : step.getFieldName())
              .collect(Collectors.joining("."));
      throw bad(
          path.isEmpty()
              ? "the body is not an object with all its fields"
              : path + " is missing, unknown, or of a wrong type",
          e);
    } catch (JsonProcessingException e) {
      throw bad("the body is not JSON", e);
    }
  }

  private static Problem bad(String detail, Exception cause) {
    return new Problem(Problem.Kind.BAD_REQUEST, detail, cause);
  }

  @Override
  public boolean isWriteable(Class<?> type, Type generic, Annotation[] notes, MediaType media) {
    return type.isRecord();
  }

  @Override
  public void writeTo(
      Record value,
      Class<?> type,
      Type generic,
      Annotation[] notes,
      MediaType media,
      MultivaluedMap<String, Object> headers,
      OutputStream body)
      throws IOException {
    byte[] json = bytes(value);
    headers.putSingle(HttpHeaders.CONTENT_LENGTH, json.length); // else it would be sent in chunks
    body.write(json);
  }

  static byte[] bytes(Record value) throws IOException {
    return MAPPER.writeValueAsBytes(value);
  }
}
