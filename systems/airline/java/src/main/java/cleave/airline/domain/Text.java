package cleave.airline.domain;

/** The rule for every text of a request. */
public final class Text {

  /** The longest text, in code points. */
  public static final int LONGEST = 256;

  private Text() {}

  /** Refuses a text that is missing, empty, too long or not Unicode; returns any other. */
  public static String check(String name, String value) {
    if (value == null || value.isEmpty()) {
      throw new Problem(Problem.Kind.BAD_REQUEST, name + " is missing or empty");
    }
    int length = value.codePointCount(0, value.length());
    if (length > LONGEST) {
      throw new Problem(
          Problem.Kind.BAD_REQUEST, name + " has " + length + " characters, more than " + LONGEST);
    }
    // Half of a surrogate pair can be written in JSON, but not in UTF-8.
    if (value.codePoints().anyMatch(c -> Character.getType(c) == Character.SURROGATE)) {
      throw new Problem(Problem.Kind.BAD_REQUEST, name + " has half a character");
    }
    return value;
  }
}
