package cleave.airline.service;

import cleave.airline.domain.Customers;

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
    customers.check(login, password);
    return tokens.issue(login);
  }

  public void logout(String token) {
    tokens.revoke(token);
  }
}
