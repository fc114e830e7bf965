package cleave.airline.mongo;

import cleave.airline.domain.Flight;
import cleave.airline.service.FlightStore;
import cleave.airline.service.Seed;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.Indexes;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.bson.Document;

/** Airports and flights by their ids; an index has those of a segment and day. */
final class MongoFlights implements FlightStore {
  private static final String AIRPORTS = "airports";
  private static final String FLIGHTS = "flights";

  private final MongoStores stores;
  private final MongoCollection<Document> airports;
  private final MongoCollection<Document> flights;

  MongoFlights(MongoStores stores) {
    this.stores = stores;
    this.airports = stores.collection(AIRPORTS);
    this.flights = stores.collection(FLIGHTS);
    MongoStores.patient(flights).createIndex(Indexes.ascending("from", "to", "day"));
  }

  @Override
  public void load(List<String> codes, Stream<Flight> all) {
    stores.loadOnce(AIRPORTS, codes.stream().map(code -> new Document("_id", code)));
    stores.loadOnce(FLIGHTS, all.map(MongoFlights::document));
  }

  @Override
  public boolean hasAirport(String code) {
    return MongoStores.get(airports, code) != null;
  }

  @Override
  public Optional<Flight> get(String id) {
    return Optional.ofNullable(MongoStores.get(flights, id)).map(MongoFlights::flight);
  }

  @Override
  public List<Flight> find(String from, String to, LocalDate date) {
    // One document, as other drivers send it: Filters.and makes $and of it, for which the stand-in
    // of MongoDB looks at no index.
    Document wanted =
        new Document("from", from).append("to", to).append("day", Seed.DAY.format(date));
    List<Document> found = MongoStores.answered(() -> flights.find(wanted).into(new ArrayList<>()));
    return found.stream().map(MongoFlights::flight).sorted(BY_NUMBER).toList();
  }

  private static Document document(Flight f) {
    return new Document("_id", f.id())
        .append("from", f.from())
        .append("to", f.to())
        .append("day", f.departs().substring(0, 10).replace("-", ""))
        .append("departs", Date.from(Instant.parse(f.departs())))
        .append("minutes", f.minutes())
        .append("price", f.price());
  }

  private static Flight flight(Document d) {
    return new Flight(
        d.getString("_id"),
        d.getString("from"),
        d.getString("to"),
        d.getDate("departs").toInstant().toString(),
        d.getInteger("minutes"),
        d.getInteger("price"));
  }
}
