package cleave.airline;

import java.io.InputStream;
import java.util.logging.LogManager;

/**
 * The program: one unit of the airline, with the settings of its environment. Exit codes: 0 it was
 * stopped, 1 it could not go on, 2 a value of the environment is wrong.
 */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws Exception {
    try (InputStream logging = Main.class.getResourceAsStream("logging.properties")) {
      LogManager.getLogManager().readConfiguration(logging);
    }
    try {
      Unit unit = new Unit(Settings.of(System.getenv()));
      Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(unit), "stop"));
    } catch (Settings.WrongValue e) {
      System.err.println("airline: " + e.getMessage());
      System.exit(2);
    } catch (Exception e) {
      System.err.println("airline: the unit cannot start: " + e);
      System.exit(1);
    }
  }

  /**
   * Stops the unit and exits with 0: after SIGTERM Java itself would exit with 143, as if it had
   * failed.
   */
  private static void stop(Unit unit) {
    int code = 0;
    try {
      unit.stop();
    } catch (Exception e) {
      System.err.println("airline: the unit did not stop in good order: " + e);
      code = 1;
    }
    Runtime.getRuntime().halt(code);
  }
}
