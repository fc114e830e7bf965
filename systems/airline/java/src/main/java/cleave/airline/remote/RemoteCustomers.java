package cleave.airline.remote;

import cleave.airline.domain.Customers;
import java.net.http.HttpResponse;
import java.util.Map;

/** Asks customers whether a login and its password are right. */
public final class RemoteCustomers implements Customers {
  private final Peer customers;

  public RemoteCustomers(Peer customers) {
    this.customers = customers;
  }

  @Override
  public boolean accepts(String login, String password) {
    HttpResponse<byte[]> answer =
        customers.post("check", Wire.write(Map.of("login", login, "password", password)));
    return switch (answer.statusCode()) {
      case 204 -> true;
      case 401 -> false;
      default -> throw customers.unexpected(answer);
    };
  }
}
