package cleave.airline.domain;

/** What customers may change of themselves. */
public record Contact(String phone, Address address) {

  /** This contact, if it may be stored. */
  public Contact checked() {
    Text.check("phone", phone);
    if (address == null) {
      throw new Problem(Problem.Kind.BAD_REQUEST, "address is missing");
    }
    Text.check("address.street", address.street());
    Text.check("address.city", address.city());
    Text.check("address.postcode", address.postcode());
    Text.check("address.country", address.country());
    return this;
  }
}
