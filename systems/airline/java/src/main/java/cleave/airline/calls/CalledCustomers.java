package cleave.airline.calls;

import cleave.airline.domain.Customers;
import io.grpc.MethodDescriptor;

/** Asks customers whether a login and its password are right. */
public final class CalledCustomers implements Customers {
  static final MethodDescriptor<Fields, Fields> CHECK =
      Callee.method("cleave.airline.v1.Customers", "CheckPassword");

  private final Callee customers;

  public CalledCustomers(Callee customers) {
    this.customers = customers;
  }

  @Override
  public boolean accepts(String login, String password) {
    return customers.ask(CHECK, new Fields().put(1, login).put(2, password)).number(1) != 0;
  }

  static Fields answer(Customers customers, Fields question) {
    return new Fields().put(1, customers.accepts(question.text(1), question.text(2)) ? 1 : 0);
  }
}
