package cleave.airline.domain;

/** Port: what a login asks the customers' part. */
public interface Customers {

  /** Whether there is such a customer with this password. */
  boolean accepts(String login, String password);
}
