package cleave.airline.service;

import cleave.airline.domain.Session;
import cleave.airline.domain.Sessions;

/** How sessions are made and ended: stored and asked for, or signed and checked by anybody. */
public interface Tokens extends Sessions {

  /** A token that stands for the customer, and until when. */
  Issued issue(String login);

  /** Ends a session where that can be done before it expires. */
  void revoke(String token);

  /** A token with its session. */
  record Issued(String token, Session session) {}
}
