package cleave.airline.mongo;

import cleave.airline.domain.Session;
import cleave.airline.service.SessionStore;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.Indexes;
import java.util.Date;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.bson.Document;

/** Sessions by their tokens. */
final class MongoSessions implements SessionStore {
  private final MongoCollection<Document> sessions;

  MongoSessions(MongoStores stores) {
    this.sessions = stores.collection("sessions");
    MongoStores.patient(sessions)
        .createIndex(
            Indexes.ascending("expires"),
            new IndexOptions().expireAfter(0L, TimeUnit.SECONDS)); // the server sweeps them
  }

  @Override
  public void put(String token, Session session) {
    Document document =
        new Document("_id", token)
            .append("login", session.login())
            .append("expires", Date.from(session.expires()));
    MongoStores.answered(() -> sessions.insertOne(document));
  }

  @Override
  public Optional<Session> get(String token) {
    return Optional.ofNullable(MongoStores.get(sessions, token))
        .map(d -> new Session(d.getString("login"), d.getDate("expires").toInstant()));
  }

  @Override
  public void remove(String token) {
    MongoStores.answered(() -> sessions.deleteOne(Filters.eq("_id", token)));
  }
}
