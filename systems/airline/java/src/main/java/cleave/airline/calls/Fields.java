package cleave.airline.calls;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The fields of a message by their numbers. The messages of the airline are few and small, with
 * texts, whole numbers and one message inside: code generated for them would be more than this.
 */
final class Fields {
  private final Map<Integer, byte[]> texts = new HashMap<>();
  private final Map<Integer, Long> numbers = new HashMap<>();

  Fields put(int number, String text) {
    texts.put(number, text.getBytes(StandardCharsets.UTF_8));
    return this;
  }

  Fields put(int number, Fields message) {
    texts.put(number, message.write());
    return this;
  }

  Fields put(int number, long value) {
    numbers.put(number, value);
    return this;
  }

  /** A text; one that is missing is empty. */
  String text(int number) {
    return new String(texts.getOrDefault(number, new byte[0]), StandardCharsets.UTF_8);
  }

  /** A number; one that is missing is 0. */
  int number(int number) {
    return numbers.getOrDefault(number, 0L).intValue();
  }

  Optional<Fields> message(int number) {
    return Optional.ofNullable(texts.get(number)).map(Fields::read);
  }

  byte[] write() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      for (Map.Entry<Integer, byte[]> text : texts.entrySet()) {
        out.writeByteArray(text.getKey(), text.getValue());
      }
      for (Map.Entry<Integer, Long> number : numbers.entrySet()) {
        out.writeInt64(number.getKey(), number.getValue());
      }
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException("memory can always be written to", e);
    }
    return bytes.toByteArray();
  }

  /**
   * Reads a message. It skips fields that are no text and no number: these are of a newer version.
   */
  static Fields read(byte[] bytes) {
    Fields fields = new Fields();
    CodedInputStream in = CodedInputStream.newInstance(bytes);
    try {
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        int number = WireFormat.getTagFieldNumber(tag);
        switch (WireFormat.getTagWireType(tag)) {
          case WireFormat.WIRETYPE_LENGTH_DELIMITED -> fields.texts.put(number, in.readByteArray());
          case WireFormat.WIRETYPE_VARINT -> fields.numbers.put(number, in.readInt64());
          default -> in.skipField(tag);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("a message of another unit is unreadable", e);
    }
    return fields;
  }
}
