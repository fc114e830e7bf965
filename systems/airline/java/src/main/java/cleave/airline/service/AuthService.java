package cleave.airline.service;

import cleave.airline.domain.Customers;
import cleave.airline.domain.Problem;
import cleave.airline.domain.Text;

/** Begins and ends sessions. */
public final class AuthService {
  private final Customers customers;
  private final Tokens tokens;

  public AuthService(Customers customers, Tokens tokens) {
    this.customers = customers;
    this.tokens = tokens;
  }

  /** Begins a session of the customer. */
  public Tokens.Issued login(String login, String password) {
    Text.check("login", login);
    Text.check("password", password);
    if (!customers.accepts(login, password)) {
      throw new Problem(Problem.Kind.WRONG_CREDENTIALS, "no customer has this login and password");
    }
    return tokens.issue(login);
  }

  public void logout(String token) {
    tokens.revoke(token);
  }
}
