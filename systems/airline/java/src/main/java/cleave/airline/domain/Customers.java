package cleave.airline.domain;

/** Port to the part of the customers, for logins. */
public interface Customers {

  /** Whether there is such a customer with this password. */
  boolean accepts(String login, String password);

  /** Refuses credentials that are wrong or malformed. */
  default void check(String login, String password) {
    Text.check("login", login);
    Text.check("password", password);
    if (!accepts(login, password)) {
      throw new Problem(Problem.Kind.WRONG_CREDENTIALS, "no customer has this login and password");
    }
  }
}
