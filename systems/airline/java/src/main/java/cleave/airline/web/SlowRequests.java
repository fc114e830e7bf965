package cleave.airline.web;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.internal.HttpConnection;
import org.eclipse.jetty.util.Callback;

/**
 * Closes connections on which a request has begun to arrive and is not complete in time, head and
 * body together. Jetty's own limits are for the time between two bytes, so a client that sends a
 * byte now and then would keep a connection for ever.
 */
final class SlowRequests extends Handler.Wrapper implements Connection.Listener {
  private static final long LOOK_MILLIS = 500;

  private final long limitNanos;
  private final Map<Connection, Arrival> arrivals = new ConcurrentHashMap<>();
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "slow-requests");
            thread.setDaemon(true);
            return thread;
          });

  SlowRequests(Duration limit, Handler handler) {
    super(handler);
    this.limitNanos = limit.toNanos();
    clock.scheduleWithFixedDelay(this::look, LOOK_MILLIS, LOOK_MILLIS, TimeUnit.MILLISECONDS);
  }

  @Override
  public void onOpened(Connection connection) {
    if (connection instanceof HttpConnection) { // over HTTP/2 only other units call
      arrivals.put(connection, new Arrival());
    }
  }

  @Override
  public void onClosed(Connection connection) {
    arrivals.remove(connection);
  }

  /** A request comes here when it is complete, its body included, or failed. */
  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    Connection connection = request.getConnectionMetaData().getConnection();
    if (!connection.getEndPoint().isOpen()) { // it was cut off: no client waits for an answer
      callback.failed(new EofException("the request is not complete"));
      return true;
    }
    Arrival arrival = arrivals.get(connection);
    if (arrival != null) {
      arrival.complete = connection.getBytesIn();
    }
    return super.handle(request, response, callback);
  }

  private void look() {
    long now = System.nanoTime();
    arrivals.forEach(
        (connection, arrival) -> {
          if (arrival.isLate(connection.getBytesIn(), now, limitNanos)) {
            connection.getEndPoint().close();
          }
        });
  }

  @Override
  protected void doStop() throws Exception {
    clock.shutdownNow();
    super.doStop();
  }

  /** How far the present request on one connection has arrived. */
  private static final class Arrival {
    /** Bytes that belonged to complete requests; written by the thread that handles one. */
    private volatile long complete;

    // Used by the watching thread only: the value of complete when it last looked, and the time at
    // which it first saw bytes of a further request; 0 if there are none.
    private long seen;
    private long since;

    boolean isLate(long bytes, long now, long limit) {
      long done = complete;
      if (bytes <= done || done != seen || since == 0) {
        seen = done;
        since = bytes > done ? now : 0;
        return false;
      }
      return now - since > limit;
    }
  }
}
