package cleave.airline.store;

import cleave.airline.domain.Account;
import cleave.airline.domain.Address;
import cleave.airline.domain.Contact;
import cleave.airline.domain.Customer;
import cleave.airline.service.CustomerStore;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.stream.Stream;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.WriteBuffer;

/** Accounts by their logins. */
public final class StoredCustomers implements CustomerStore {
  private static final RecordType<Account> TYPE =
      new RecordType<>(
          new Account[0],
          account -> 200, // texts of customers are short, most of it is the hash
          StoredCustomers::write,
          StoredCustomers::read);

  private final Database database;
  private final MVMap<String, Account> accounts;

  public StoredCustomers(Database database) {
    this.database = database;
    this.accounts = database.open("accounts", TYPE);
  }

  @Override
  public void load(Stream<Account> all) {
    database.load("accounts", () -> all.forEach(a -> accounts.put(a.customer().login(), a)));
  }

  @Override
  public Optional<Account> get(String login) {
    return Optional.ofNullable(accounts.get(login));
  }

  @Override
  public Optional<Customer> change(String login, Contact contact) {
    return database.change(
        () ->
            Optional.ofNullable(
                    accounts.computeIfPresent(
                        login,
                        (key, a) -> new Account(a.customer().with(contact), a.passwordHash())))
                .map(Account::customer));
  }

  private static void write(WriteBuffer buffer, Account account) {
    Customer c = account.customer();
    Address a = c.address();
    RecordType.put(buffer, account.passwordHash(), c.login(), c.firstName(), c.lastName());
    RecordType.put(buffer, c.phone(), a.street(), a.city(), a.postcode(), a.country());
    buffer.putVarInt(c.miles());
  }

  private static Account read(ByteBuffer buffer) {
    String[] texts = new String[9]; // in the order of write
    for (int i = 0; i < texts.length; i++) {
      texts[i] = RecordType.text(buffer);
    }
    Address address = new Address(texts[5], texts[6], texts[7], texts[8]);
    int miles = RecordType.number(buffer);
    return new Account(
        new Customer(texts[1], texts[2], texts[3], texts[4], miles, address), texts[0]);
  }
}
