package cleave.airline.service;

import cleave.airline.domain.Problem;

/** The rule that customers see and change what is theirs. */
final class Owner {
  private Owner() {}

  static void check(String asking, String owner) {
    if (!asking.equals(owner)) {
      throw new Problem(Problem.Kind.NOT_YOURS, "it does not belong to customer " + asking);
    }
  }
}
