package cleave.airline.domain;

/** A refusal, or an expected failure. The message is for people who use the airline. */
public final class Problem extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Why something is refused. */
  public enum Kind {
    BAD_REQUEST,
    WRONG_CREDENTIALS,
    NO_SESSION,
    NOT_YOURS,
    UNKNOWN_PATH,
    UNKNOWN_AIRPORT,
    UNKNOWN_FLIGHT,
    UNKNOWN_BOOKING,
    WRONG_METHOD,
    ALREADY_BOOKED,
    TOO_LARGE,
    UNAVAILABLE,
    INTERNAL
  }

  private final Kind kind;

  public Problem(Kind kind, String message) {
    this(kind, message, null);
  }

  /** A problem with its cause, which may be logged and is never sent. */
  public Problem(Kind kind, String message, Throwable cause) {
    // A refusal is an everyday answer; walking the stack for it would be most of its cost.
    super(message, cause, false, kind == Kind.INTERNAL);
    this.kind = kind;
  }

  public Kind kind() {
    return kind;
  }
}
