package cleave.airline.store;

import cleave.airline.service.BookingStore;
import cleave.airline.service.CustomerStore;
import cleave.airline.service.FlightStore;
import cleave.airline.service.SessionStore;
import cleave.airline.service.Stores;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.type.DataType;
import org.h2.mvstore.type.StringDataType;

/**
 * One file of maps. When {@link #change} returns, a change is in the page cache of the operating
 * system: it survives the end of the process, but not that of the host, like MongoDB's default.
 */
public final class Database implements Stores {
  private static final String LOADED = "loaded";
  private static final String OPENED = "opened";

  private final MVStore store;
  private final MVMap<String, String> marks;

  /** Opens the file in this folder; makes both if they are missing. */
  public Database(Path folder) throws IOException {
    Files.createDirectories(folder);
    // Commits are ours alone: one in the background could fall between two halves of a change.
    store =
        new MVStore.Builder()
            .fileName(folder.resolve("airline.mv").toString())
            .autoCommitDisabled()
            .open();
    // The room of old versions is reused at once: they would help after a crash of the host only.
    store.setRetentionTime(0);
    marks = open("marks", StringDataType.INSTANCE);
    // The store searches its file for what a killed process has left. Only a commit on top of that
    // makes sure that the next process finds the same, even if this one writes nothing.
    change(() -> marks.put(OPENED, ""));
  }

  @Override
  public SessionStore sessions() {
    return new StoredSessions(this);
  }

  @Override
  public CustomerStore customers() {
    return new StoredCustomers(this);
  }

  @Override
  public FlightStore flights() {
    return new StoredFlights(this);
  }

  @Override
  public BookingStore bookings() {
    return new StoredBookings(this);
  }

  <V> MVMap<String, V> open(String name, DataType<V> values) {
    return store.openMap(
        name, new MVMap.Builder<String, V>().keyType(StringDataType.INSTANCE).valueType(values));
  }

  /**
   * Carries out one change at a time, and commits it; one that throws must have written nothing.
   */
  synchronized <T> T change(Supplier<T> change) {
    T result = change.get();
    store.commit();
    return result;
  }

  /** Carries out the change that fills a store, if no process has committed it before. */
  void load(String what, Runnable fill) {
    change(
        () -> {
          String mark = LOADED + " " + what;
          if (!marks.containsKey(mark)) {
            fill.run();
            marks.put(mark, "");
          }
          return null;
        });
  }

  @Override
  public synchronized void close() {
    store.close();
  }
}
