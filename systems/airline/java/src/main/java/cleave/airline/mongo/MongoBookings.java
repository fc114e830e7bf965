package cleave.airline.mongo;

import cleave.airline.domain.Booking;
import cleave.airline.service.BookingStore;
import com.mongodb.ErrorCategory;
import com.mongodb.MongoWriteException;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.Indexes;
import com.mongodb.client.model.Updates;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bson.Document;
import org.bson.conversions.Bson;

/**
 * Bookings as orders: what was booked together is one document, which is written as a whole or not
 * at all. A server that is no replica set has no transactions over two documents. An index refuses
 * a second order with the same customer and flight.
 */
final class MongoBookings implements BookingStore {
  private static final String SEAT_ID = "seats.id";

  private final MongoCollection<Document> orders;

  MongoBookings(MongoStores stores) {
    this.orders = stores.collection("orders");
    MongoCollection<Document> patient = MongoStores.patient(orders);
    patient.createIndex(
        Indexes.ascending("login", "seats.flight"), new IndexOptions().unique(true));
    patient.createIndex(Indexes.ascending(SEAT_ID));
  }

  /** If there are two flights, the server does not say which of them the customer has. */
  @Override
  public Optional<String> add(List<Booking> bookings) {
    Booking first = bookings.get(0);
    Document order =
        new Document("_id", first.id())
            .append("login", first.login())
            .append("booked", first.booked())
            .append(
                "seats",
                bookings.stream()
                    .map(b -> new Document("id", b.id()).append("flight", b.flight()))
                    .toList());
    try {
      MongoStores.answered(() -> orders.insertOne(order));
      return Optional.empty();
    } catch (MongoWriteException e) {
      if (e.getError().getCategory() != ErrorCategory.DUPLICATE_KEY) {
        throw e;
      }
      return Optional.of(
          bookings.stream().map(Booking::flight).collect(Collectors.joining(" or ")));
    }
  }

  @Override
  public Optional<Booking> get(String id) {
    Document order = MongoStores.answered(() -> orders.find(Filters.eq(SEAT_ID, id)).first());
    return Optional.ofNullable(order).stream()
        .flatMap(MongoBookings::bookings)
        .filter(b -> b.id().equals(id))
        .findFirst();
  }

  /**
   * The last seat of an order goes with it: to the unique index, two orders without seats would be
   * the same.
   */
  @Override
  public boolean remove(String id) {
    Document seat = new Document(SEAT_ID, id);
    Document notTheLast =
        new Document(SEAT_ID, id).append("seats.1", new Document("$exists", true));
    Bson without = Updates.pull("seats", new Document("id", id));
    return MongoStores.answered(() -> orders.updateOne(notTheLast, without)).getModifiedCount() > 0
        || MongoStores.answered(() -> orders.deleteOne(seat)).getDeletedCount() > 0;
  }

  @Override
  public List<Booking> of(String login) {
    List<Document> found =
        MongoStores.answered(() -> orders.find(Filters.eq("login", login)).into(new ArrayList<>()));
    return found.stream()
        .flatMap(MongoBookings::bookings)
        .sorted(Comparator.comparing(Booking::booked).thenComparing(Booking::id))
        .toList();
  }

  @Override
  public void forEach(Consumer<Booking> visit) {
    MongoStores.patient(orders).find().forEach(order -> bookings(order).forEach(visit));
  }

  private static Stream<Booking> bookings(Document order) {
    return order.getList("seats", Document.class).stream()
        .map(
            seat ->
                new Booking(
                    seat.getString("id"),
                    order.getString("login"),
                    seat.getString("flight"),
                    order.getString("booked")));
  }
}
