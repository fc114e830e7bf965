package cleave.airline.calls;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Compares messages with the bytes that protobuf writes. */
class FieldsTest {
  @Test
  void areWrittenAsProtobuf() {
    Fields inside = new Fields().put(1, "ü").put(5, 300);
    byte[] bytes = new Fields().put(1, inside).write();
    assertArrayEquals(HexFormat.of().parseHex("0a070a02c3bc28ac02"), bytes);
  }

  @Test
  void skipNewerFields() {
    // field 9 has 64 bits, field 2 a text, field 3 a number
    Fields read = Fields.read(HexFormat.of().parseHex("490102030405060708" + "12026869" + "1801"));
    assertEquals("hi", read.text(2));
    assertEquals(1, read.number(3));
    assertEquals("", read.text(4));
    assertTrue(read.message(4).isEmpty());
  }

  @Test
  void rejectBrokenMessages() {
    assertThrows(UncheckedIOException.class, () -> Fields.read(new byte[] {0x0a, 5, 1}));
  }
}
