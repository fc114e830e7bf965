package cleave.airline.calls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** Which requests are answered. */
class AnswersTest {
  private static final String PATH = "/" + Callee.CHECK_PASSWORD.getFullMethodName();

  @Test
  void takeOneWholeMessage() {
    Answers answers = new Answers();
    answers.customers((login, password) -> login.equals("c1") && password.equals("right"));
    byte[] message = new Fields().put(1, "c1").put(2, "right").write();
    assertEquals(5 + 2, answers.answer(PATH, request(message.length, message)).remaining());
    for (int length :
        new int[] {-1, 0, message.length - 1, message.length + 1, Integer.MAX_VALUE}) {
      assertThrows(
          IllegalArgumentException.class,
          () -> answers.answer(PATH, request(length, message)),
          "a message of " + length + " bytes");
    }
    byte[] large = new Fields().put(1, "x".repeat(Answers.LARGEST)).put(2, "right").write();
    assertThrows(
        IllegalArgumentException.class, () -> answers.answer(PATH, request(large.length, large)));
    assertThrows(
        IllegalArgumentException.class,
        () -> answers.answer("/elsewhere", request(message.length, message)));
  }

  /** A request with a message that is said to have this length. */
  private static ByteBuffer request(int length, byte[] message) {
    return ByteBuffer.allocate(5 + message.length).put((byte) 0).putInt(length).put(message).flip();
  }
}
