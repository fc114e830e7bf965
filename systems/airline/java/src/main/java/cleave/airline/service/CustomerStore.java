package cleave.airline.service;

import cleave.airline.domain.Account;
import cleave.airline.domain.Contact;
import cleave.airline.domain.Customer;
import java.util.Optional;
import java.util.stream.Stream;

/** Accounts by their logins. A write that has returned survives the end of this process. */
public interface CustomerStore {

  /** Stores the accounts that the airline begins with, once in the life of the store. */
  void load(Stream<Account> accounts);

  Optional<Account> get(String login);

  /** Changes the contact and returns the customer as stored then; empty if there is none. */
  Optional<Customer> change(String login, Contact contact);
}
