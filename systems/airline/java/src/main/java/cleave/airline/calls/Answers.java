package cleave.airline.calls;

import cleave.airline.domain.Customers;
import cleave.airline.domain.Flight;
import cleave.airline.domain.Flights;
import cleave.airline.domain.Problem;
import cleave.airline.domain.Sessions;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * Answers calls of other units, one message each way; all other requests go on. Jetty's HTTP/2
 * carries them: grpc-java's own servers would need an address of their own.
 */
public final class Answers extends Handler.Wrapper {
  private static final Logger LOG = Logger.getLogger(Answers.class.getName());

  private static final String TYPE = "application/grpc";

  /**
   * The length of the prefix of a message: whether it is compressed, which none is, and its length.
   */
  private static final int PREFIX = 1 + Integer.BYTES;

  /** The longest request in bytes, as over HTTP. */
  static final int LARGEST = 16 * 1024;

  private final Map<String, UnaryOperator<Fields>> methods = new HashMap<>();

  /** Answers calls to auth. */
  public void sessions(Sessions sessions) {
    add(
        Callee.FIND_SESSION,
        question ->
            found(
                sessions
                    .find(question.text(1))
                    .map(s -> new Fields().put(1, s.login()).put(2, s.expires().toString()))));
  }

  /** Answers calls to customers. */
  public void customers(Customers customers) {
    add(
        Callee.CHECK_PASSWORD,
        question ->
            new Fields().put(1, customers.accepts(question.text(1), question.text(2)) ? 1 : 0));
  }

  /** Answers calls to flights. */
  public void flights(Flights flights) {
    add(
        Callee.FIND_FLIGHT,
        question -> found(flights.flight(question.text(1)).map(Answers::fields)));
  }

  private static Fields fields(Flight f) {
    return new Fields()
        .put(1, f.id())
        .put(2, f.from())
        .put(3, f.to())
        .put(4, f.departs())
        .put(5, f.minutes())
        .put(6, f.price());
  }

  /** An answer with a message inside, where there is one. */
  private static Fields found(Optional<Fields> inside) {
    return inside.map(message -> new Fields().put(1, message)).orElseGet(Fields::new);
  }

  private void add(MethodDescriptor<Fields, Fields> method, UnaryOperator<Fields> answer) {
    methods.put("/" + method.getFullMethodName(), answer);
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    String type = request.getHeaders().get(HttpHeader.CONTENT_TYPE);
    if (request.getConnectionMetaData().getHttpVersion() != HttpVersion.HTTP_2
        || type == null
        || !type.startsWith(TYPE)) {
      return super.handle(request, response, callback);
    }
    byte[] body = Content.Source.asInputStream(request).readNBytes(LARGEST + 1);
    Status status = Status.OK;
    ByteBuffer answer = null;
    try {
      answer = answer(request.getHttpURI().getPath(), ByteBuffer.wrap(body));
    } catch (RuntimeException e) {
      if (e instanceof Problem problem && problem.kind() == Problem.Kind.UNAVAILABLE) {
        status = Status.UNAVAILABLE;
      } else {
        LOG.log(Level.SEVERE, "a call of another unit could not be carried out", e);
        status = Status.INTERNAL;
      }
    }
    String code = Integer.toString(status.getCode().value());
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, TYPE);
    response.setTrailersSupplier(() -> HttpFields.build().put("grpc-status", code));
    response.write(true, answer, callback);
    return true;
  }

  ByteBuffer answer(String path, ByteBuffer body) {
    if (body.remaining() > LARGEST) {
      throw new IllegalArgumentException("a call of more than " + LARGEST + " bytes at " + path);
    }
    UnaryOperator<Fields> method = methods.get(path);
    if (method == null
        || body.remaining() < PREFIX
        || body.get() != 0
        || body.getInt() != body.remaining()) {
      throw new IllegalArgumentException("there is no call of one plain message at " + path);
    }
    byte[] question = new byte[body.remaining()];
    body.get(question);
    byte[] answer = method.apply(Fields.read(question)).write();
    return ByteBuffer.allocate(PREFIX + answer.length)
        .put((byte) 0)
        .putInt(answer.length)
        .put(answer)
        .flip();
  }
}
