package cleave.airline.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cleave.airline.domain.Booking;
import cleave.airline.service.BookingStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.io.TempDir;

/** What was acknowledged is there after SIGKILL. */
class CrashTest {
  private static final int ACKNOWLEDGED = 500;

  /** A process that books until it is killed and says which bookings were acknowledged. */
  static final class Booker {
    private Booker() {}

    public static void main(String[] arguments) throws Exception {
      BookingStore store = new StoredBookings(new Database(Path.of(arguments[0])));
      for (int n = Integer.parseInt(arguments[1]); ; n++) {
        String id = Integer.toString(n);
        Booking kept = new Booking(id, "c" + n % 7, "there " + n, "2026-01-01T00:00:00.000Z");
        Booking back = new Booking(id + "r", kept.login(), "back " + n, kept.booked());
        if (store.add(List.of(kept, back)).isPresent() || !store.remove(back.id())) {
          throw new IllegalStateException("booking " + n + " was refused");
        }
        System.out.println(id);
      }
    }
  }

  @RepeatedTest(3)
  void acknowledgedBookingsSurvive(@TempDir Path folder) throws Exception {
    Set<String> acknowledged = new HashSet<>();
    Set<String> before = Set.of();
    // The second process finds what the first one left.
    for (int from : new int[] {0, 1_000_000}) {
      bookAndKill(folder, from, acknowledged);
      try (Database database = new Database(folder)) {
        BookingStore store = new StoredBookings(database);
        Set<String> found = new HashSet<>();
        store.forEach(booking -> found.add(booking.id()));
        assertTrue(found.containsAll(acknowledged), "acknowledged bookings are lost");
        acknowledged.forEach(id -> assertFalse(found.contains(id + "r"), "a removal is lost"));
        // At most what was under way when the process was killed is there beside them.
        Set<String> more = new HashSet<>(found);
        more.removeAll(acknowledged);
        more.removeAll(before);
        assertTrue(more.size() <= 2, "there is more than was acknowledged: " + more);
        assertTrue(found.containsAll(before), "what was found once is lost");
        int listed = 0;
        for (int n = 0; n < 7; n++) {
          listed += store.of("c" + n).size();
        }
        assertEquals(found.size(), listed, "the index has not what the bookings have");
        before = found;
      }
    }
  }

  private static void bookAndKill(Path folder, int from, Set<String> acknowledged)
      throws Exception {
    Path said = folder.resolve("said-" + from);
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Booker.class.getName(),
                folder.toString(),
                Integer.toString(from))
            .redirectOutput(said.toFile())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    while (lines(said).size() < ACKNOWLEDGED && process.isAlive()) {
      Thread.sleep(1);
    }
    process.destroyForcibly(); // SIGKILL
    assertTrue(process.waitFor(1, TimeUnit.MINUTES));
    acknowledged.addAll(lines(said));
    assertTrue(acknowledged.size() >= ACKNOWLEDGED, "the process ended by itself");
  }

  /** The whole lines of a file; one without its end was not acknowledged. */
  private static List<String> lines(Path file) throws IOException {
    String text = Files.readString(file);
    return text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
  }
}
