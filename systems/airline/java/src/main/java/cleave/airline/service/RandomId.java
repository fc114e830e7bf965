package cleave.airline.service;

import java.security.SecureRandom;
import java.util.HexFormat;

/** Makes ids that nobody can guess: 128 random bits as 32 hexadecimal digits. */
final class RandomId {
  private final SecureRandom random = new SecureRandom();

  String next() {
    byte[] bits = new byte[16];
    random.nextBytes(bits);
    return HexFormat.of().formatHex(bits);
  }
}
