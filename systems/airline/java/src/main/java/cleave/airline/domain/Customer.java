package cleave.airline.domain;

/** What customers see of themselves. */
public record Customer(
    String login, String firstName, String lastName, String phone, int miles, Address address) {

  /** This customer with another contact. */
  public Customer with(Contact contact) {
    return new Customer(login, firstName, lastName, contact.phone(), miles, contact.address());
  }
}
