package cleave.airline.domain;

/** A customer with the hash of the password, which never leaves the customers' part. */
public record Account(Customer customer, String passwordHash) {}
