package cleave.airline.mongo;

import cleave.airline.domain.Problem;
import cleave.airline.service.BookingStore;
import cleave.airline.service.CustomerStore;
import cleave.airline.service.FlightStore;
import cleave.airline.service.SessionStore;
import cleave.airline.service.Stores;
import com.mongodb.ConnectionString;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoSocketException;
import com.mongodb.MongoTimeoutException;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.model.Filters;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.bson.Document;

/** The database of the airline on a server. */
public final class MongoStores implements Stores {
  private static final int PATIENCE_SECONDS = 5;

  // For slow operations: to make indices, to load a collection, and to list all documents.
  private static final int LONG_PATIENCE_SECONDS = 60;

  private static final int LOADED_AT_ONCE = 1000;

  private final MongoClient client;
  private final MongoDatabase database;

  /** Opens the database at a URL, which may have secrets: no message repeats it. */
  public MongoStores(String url) {
    MongoClientSettings.Builder settings = MongoClientSettings.builder();
    try {
      settings.applyConnectionString(new ConnectionString(url));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "the URL of the database is none that its driver can use"); // the cause shows the URL
    }
    client =
        MongoClients.create(
            settings
                .timeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .applyToClusterSettings(
                    b -> b.serverSelectionTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .build());
    database = client.getDatabase("airline");
  }

  @Override
  public SessionStore sessions() {
    return new MongoSessions(this);
  }

  @Override
  public CustomerStore customers() {
    return new MongoCustomers(this);
  }

  @Override
  public FlightStore flights() {
    return new MongoFlights(this);
  }

  @Override
  public BookingStore bookings() {
    return new MongoBookings(this);
  }

  @Override
  public void close() {
    client.close();
  }

  MongoCollection<Document> collection(String name) {
    return database.getCollection(name);
  }

  /** The collection with the time limit of slow operations. */
  static MongoCollection<Document> patient(MongoCollection<Document> collection) {
    return collection.withTimeout(LONG_PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  /** Loads a collection, unless it was loaded to its end before. */
  void loadOnce(String name, Stream<Document> documents) {
    Document mark = new Document("_id", name);
    MongoCollection<Document> loaded = collection("loaded");
    if (loaded.find(mark).first() != null) {
      return;
    }
    MongoCollection<Document> collection = patient(collection(name));
    collection.deleteMany(new Document());
    List<Document> batch = new ArrayList<>();
    for (Iterator<Document> all = documents.iterator(); all.hasNext(); ) {
      batch.add(all.next());
      if (batch.size() == LOADED_AT_ONCE || !all.hasNext()) {
        collection.insertMany(batch);
        batch.clear();
      }
    }
    loaded.insertOne(mark);
  }

  /** The document of this id; null if there is none. */
  static Document get(MongoCollection<Document> collection, String id) {
    return answered(() -> collection.find(Filters.eq("_id", id)).first());
  }

  /** Returns the server's answer, or throws the problem UNAVAILABLE if it does not answer. */
  static <T> T answered(Supplier<T> question) {
    try {
      return question.get();
    } catch (MongoTimeoutException | MongoSocketException e) {
      throw new Problem(Problem.Kind.UNAVAILABLE, "the database of the airline does not answer", e);
    }
  }
}
