package cleave.airline;

import cleave.airline.service.Seed;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The settings of a unit, from its environment.
 *
 * @param part the part of the airline that the unit hosts
 * @param auth host:port of the unit that knows the sessions; empty if this unit does not ask it
 * @param data the folder of the embedded store
 * @param database the URL of the database server; empty: the embedded store is used
 * @param sessionKey the key of signed tokens; empty if sessions are stored
 * @param pool whether connections to other units are kept
 * @param grpc whether units call each other over gRPC, not over HTTP; it keeps its connections
 */
public record Settings(
    Part part,
    InetSocketAddress address,
    Optional<String> auth,
    Optional<String> customers,
    Optional<String> flights,
    Path data,
    Optional<String> database,
    Seed seed,
    Duration sessionLife,
    Optional<byte[]> sessionKey,
    boolean pool,
    boolean grpc) {

  /** The units of both architectures. */
  public enum Part {
    MONOLITH,
    AUTH,
    CUSTOMERS,
    FLIGHTS,
    BOOKINGS
  }

  /** A value that no unit can be started with; the message names it. */
  public static final class WrongValue extends Exception {
    private static final long serialVersionUID = 1;

    WrongValue(String name, String value, String want) {
      super(name + " is \"" + value + "\": want " + want);
    }
  }

  /** Reads and checks an environment. */
  public static Settings of(Map<String, String> environment) throws WrongValue {
    return new Reader(environment).settings();
  }

  private record Reader(Map<String, String> environment) {
    private static final Set<String> PARTS =
        Set.of("monolith", "auth", "customers", "flights", "bookings");

    Settings settings() throws WrongValue {
      Part part = Part.valueOf(choice("AIRLINE_UNIT", "", PARTS).toUpperCase(Locale.ROOT));
      boolean embedded =
          choice("AIRLINE_STORE", "embedded", Set.of("embedded", "mongodb")).equals("embedded");
      boolean pool = choice("AIRLINE_POOL", "on", Set.of("on", "off")).equals("on");
      boolean grpc = choice("AIRLINE_CALLS", "http", Set.of("http", "grpc")).equals("grpc");
      if (grpc && !pool) {
        throw new WrongValue("AIRLINE_POOL", "off", "on, since AIRLINE_CALLS is grpc");
      }
      boolean signed = choice("AIRLINE_SESSIONS", "ask", Set.of("ask", "token")).equals("token");
      boolean asks = part != Part.MONOLITH && part != Part.AUTH && !signed;
      return new Settings(
          part,
          address("CLEAVE_ADDRESS"),
          asks ? Optional.of(peer("CLEAVE_ADDRESS_AUTH")) : Optional.empty(),
          part == Part.AUTH ? Optional.of(peer("CLEAVE_ADDRESS_CUSTOMERS")) : Optional.empty(),
          part == Part.BOOKINGS ? Optional.of(peer("CLEAVE_ADDRESS_FLIGHTS")) : Optional.empty(),
          embedded
              ? Path.of(needed("AIRLINE_DATA", "the folder of the embedded store"))
              : Path.of(""),
          embedded ? Optional.empty() : Optional.of(database("CLEAVE_SERVICE_DATABASE")),
          new Seed(
              number("AIRLINE_CUSTOMERS", 200, 1, 1_000_000),
              number("AIRLINE_AIRPORTS", 14, 2, Seed.AIRPORTS.size()),
              number("AIRLINE_DAYS", 30, 1, 366),
              number("AIRLINE_FLIGHTS", 2, 1, 99),
              day("AIRLINE_FIRST_DAY", "2026-01-01")),
          Duration.ofSeconds(number("AIRLINE_SESSION_SECONDS", 1800, 1, 86_400)),
          signed ? Optional.of(key("AIRLINE_KEY")) : Optional.empty(),
          pool,
          grpc);
    }

    /** The URL may have secrets: no message repeats it. */
    private String database(String name) throws WrongValue {
      String value = environment.getOrDefault(name, "");
      if (!value.startsWith("mongodb://")) {
        throw new WrongValue(
            name, value.isEmpty() ? "" : "...", "a URL that begins with mongodb://");
      }
      return value;
    }

    private String needed(String name, String want) throws WrongValue {
      String value = environment.getOrDefault(name, "");
      if (value.isEmpty()) {
        throw new WrongValue(name, value, want);
      }
      return value;
    }

    private String choice(String name, String usual, Set<String> choices) throws WrongValue {
      String value = environment.getOrDefault(name, usual);
      if (!choices.contains(value)) {
        throw new WrongValue(name, value, String.join(" or ", choices.stream().sorted().toList()));
      }
      return value;
    }

    private int number(String name, int usual, int least, int most) throws WrongValue {
      String value = environment.getOrDefault(name, Integer.toString(usual));
      try {
        int number = Integer.parseInt(value);
        if (number >= least && number <= most) {
          return number;
        }
      } catch (NumberFormatException e) {
        // reported below, like a number out of range
      }
      throw new WrongValue(name, value, "a whole number from " + least + " to " + most);
    }

    private LocalDate day(String name, String usual) throws WrongValue {
      String value = environment.getOrDefault(name, usual);
      try {
        return LocalDate.parse(value);
      } catch (DateTimeParseException e) {
        throw new WrongValue(name, value, "a day like " + usual);
      }
    }

    private InetSocketAddress address(String name) throws WrongValue {
      URI uri = URI.create("http://" + peer(name));
      return new InetSocketAddress(uri.getHost().replaceAll("[\\[\\]]", ""), uri.getPort());
    }

    private String peer(String name) throws WrongValue {
      String value = environment.getOrDefault(name, "");
      try {
        URI uri = new URI("http://" + value);
        if (uri.getHost() != null && uri.getPort() >= 0 && value.equals(uri.getAuthority())) {
          return value;
        }
      } catch (URISyntaxException e) {
        // reported below
      }
      throw new WrongValue(name, value, "HOST:PORT");
    }

    private byte[] key(String name) throws WrongValue {
      String file = needed(name, "a file with 32 bytes in hexadecimal digits");
      try {
        byte[] key = HexFormat.of().parseHex(Files.readString(Path.of(file)).strip());
        if (key.length == 32) {
          return key;
        }
      } catch (IOException | IllegalArgumentException e) {
        // reported below; no message may show the content of the file
      }
      throw new WrongValue(name, file, "a file with 32 bytes in hexadecimal digits");
    }
  }
}
