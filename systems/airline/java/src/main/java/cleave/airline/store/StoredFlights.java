package cleave.airline.store;

import cleave.airline.domain.Flight;
import cleave.airline.service.FlightStore;
import cleave.airline.service.Seed;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.type.StringDataType;

/** Airports and flights by their ids; those of a day and segment are neighbours. */
public final class StoredFlights implements FlightStore {
  private static final RecordType<Flight> TYPE =
      new RecordType<>(
          new Flight[0],
          f -> f.id().length() + f.departs().length() + f.from().length() + f.to().length(),
          (buffer, f) -> {
            RecordType.put(buffer, f.id(), f.from(), f.to(), f.departs());
            buffer.putVarInt(f.minutes()).putVarInt(f.price());
          },
          buffer ->
              new Flight(
                  RecordType.text(buffer),
                  RecordType.text(buffer),
                  RecordType.text(buffer),
                  RecordType.text(buffer),
                  RecordType.number(buffer),
                  RecordType.number(buffer)));

  private final Database database;
  private final MVMap<String, String> airports;
  private final MVMap<String, Flight> flights;

  public StoredFlights(Database database) {
    this.database = database;
    this.airports = database.open("airports", StringDataType.INSTANCE);
    this.flights = database.open("flights", TYPE);
  }

  @Override
  public void load(List<String> codes, Stream<Flight> all) {
    database.load(
        "flights",
        () -> {
          codes.forEach(code -> airports.put(code, code));
          all.forEach(flight -> flights.put(flight.id(), flight));
        });
  }

  @Override
  public boolean hasAirport(String code) {
    return airports.containsKey(code);
  }

  @Override
  public Optional<Flight> get(String id) {
    return Optional.ofNullable(flights.get(id));
  }

  @Override
  public List<Flight> find(String from, String to, LocalDate date) {
    String prefix = from + "-" + to + "-" + Seed.DAY.format(date) + "-";
    List<Flight> found = new ArrayList<>();
    Iterator<String> ids = flights.keyIterator(prefix);
    while (ids.hasNext()) {
      String id = ids.next();
      if (!id.startsWith(prefix)) {
        break;
      }
      found.add(flights.get(id));
    }
    found.sort(BY_NUMBER);
    return found;
  }
}
