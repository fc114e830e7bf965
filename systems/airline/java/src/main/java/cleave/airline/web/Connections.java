package cleave.airline.web;

import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.internal.HttpConnection;

/**
 * Jetty's connections, but for one thing: a path with a NUL is answered like any other. Jetty ends
 * the connection with 400 before anybody could look at the path, and no setting lets it pass.
 */
final class Connections extends HttpConnectionFactory {
  private static final String NUL = "%00";

  /** Another control character, which is in nothing that is stored, either. */
  private static final String INSTEAD = "%01";

  Connections(HttpConfiguration configuration) {
    super(configuration);
  }

  @Override
  public Connection newConnection(Connector connector, EndPoint endPoint) {
    HttpConnection connection =
        new HttpConnection(getHttpConfiguration(), connector, endPoint) {
          @Override
          protected HttpStreamOverHTTP1 newHttpStream(
              String method, String uri, HttpVersion version) {
            int query = uri.indexOf('?');
            int end = query < 0 ? uri.length() : query;
            String path = uri.substring(0, end).replace(NUL, INSTEAD);
            return super.newHttpStream(method, path + uri.substring(end), version);
          }
        };
    return configure(connection, connector, endPoint);
  }
}
