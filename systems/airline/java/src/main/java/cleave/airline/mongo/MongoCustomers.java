package cleave.airline.mongo;

import cleave.airline.domain.Account;
import cleave.airline.domain.Address;
import cleave.airline.domain.Contact;
import cleave.airline.domain.Customer;
import cleave.airline.service.CustomerStore;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.ReturnDocument;
import com.mongodb.client.model.Updates;
import java.util.Optional;
import java.util.stream.Stream;
import org.bson.Document;

/** Accounts by their logins. */
final class MongoCustomers implements CustomerStore {
  private static final String NAME = "customers";

  private final MongoStores stores;
  private final MongoCollection<Document> customers;

  MongoCustomers(MongoStores stores) {
    this.stores = stores;
    this.customers = stores.collection(NAME);
  }

  @Override
  public void load(Stream<Account> accounts) {
    stores.loadOnce(NAME, accounts.map(MongoCustomers::document));
  }

  @Override
  public Optional<Account> get(String login) {
    return Optional.ofNullable(MongoStores.get(customers, login)).map(MongoCustomers::account);
  }

  @Override
  public Optional<Customer> change(String login, Contact contact) {
    Document changed =
        MongoStores.answered(
            () ->
                customers.findOneAndUpdate(
                    Filters.eq("_id", login),
                    Updates.combine(
                        Updates.set("phone", contact.phone()),
                        Updates.set("address", address(contact.address()))),
                    new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER)));
    return Optional.ofNullable(changed).map(d -> account(d).customer());
  }

  private static Document document(Account account) {
    Customer c = account.customer();
    return new Document("_id", c.login())
        .append("firstName", c.firstName())
        .append("lastName", c.lastName())
        .append("phone", c.phone())
        .append("miles", c.miles())
        .append("address", address(c.address()))
        .append("password", account.passwordHash());
  }

  private static Document address(Address a) {
    return new Document("street", a.street())
        .append("city", a.city())
        .append("postcode", a.postcode())
        .append("country", a.country());
  }

  private static Account account(Document d) {
    Document a = d.get("address", Document.class);
    Address address =
        new Address(
            a.getString("street"),
            a.getString("city"),
            a.getString("postcode"),
            a.getString("country"));
    Customer customer =
        new Customer(
            d.getString("_id"),
            d.getString("firstName"),
            d.getString("lastName"),
            d.getString("phone"),
            d.getInteger("miles"),
            address);
    return new Account(customer, d.getString("password"));
  }
}
