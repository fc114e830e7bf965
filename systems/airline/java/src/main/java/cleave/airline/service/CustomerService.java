package cleave.airline.service;

import cleave.airline.domain.Account;
import cleave.airline.domain.Contact;
import cleave.airline.domain.Customer;
import cleave.airline.domain.Customers;
import cleave.airline.domain.Problem;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;

/** What customers may see and change of themselves. */
public final class CustomerService implements Customers {
  private final CustomerStore store;

  public CustomerService(CustomerStore store) {
    this.store = store;
  }

  @Override
  public boolean accepts(String login, String password) {
    byte[] hash = passwordHash(login, password).getBytes(StandardCharsets.US_ASCII);
    Optional<Account> account = store.get(login);
    return account.isPresent()
        && MessageDigest.isEqual(
            hash, account.get().passwordHash().getBytes(StandardCharsets.US_ASCII));
  }

  /** The customer with this login. Customers may ask about themselves only. */
  public Customer get(String asking, String login) {
    Owner.check(asking, login);
    return store.get(login).map(Account::customer).orElseThrow(() -> gone(login));
  }

  /** Changes the contact of the customer who asks. */
  public Customer change(String asking, String login, Contact contact) {
    Contact checked = contact.checked();
    Owner.check(asking, login);
    return store.change(login, checked).orElseThrow(() -> gone(login));
  }

  // Customers are never removed: the stores of the units do not belong together.
  private static Problem gone(String login) {
    return new Problem(Problem.Kind.INTERNAL, "the customer " + login + " is gone");
  }

  /**
   * The stored form of a password. A real airline would use a function that is slow on purpose;
   * here it is quick in all implementations alike, since it would be most of the cost of a login.
   */
  public static String passwordHash(String login, String password) {
    try {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      byte[] text = (login + ":" + password).getBytes(StandardCharsets.UTF_8);
      return HexFormat.of().formatHex(sha256.digest(text));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
