package cleave.airline.service;

import cleave.airline.domain.Session;
import cleave.airline.domain.Sessions;

/** Makes and ends sessions: stored ones, which units ask for, or signed ones, which they check. */
public interface Tokens extends Sessions {

  /** A token that stands for the customer, and until when. */
  Issued issue(String login);

  /** Ends a session where that can be done before it expires. */
  void revoke(String token);

  /** A token with its session. */
  record Issued(String token, Session session) {}
}
