package cleave.airline.web;

import cleave.airline.domain.Sessions;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.EagerContentHandler;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.server.handler.GracefulHandler;
import org.glassfish.jersey.jetty.JettyHttpContainer;
import org.glassfish.jersey.server.ContainerFactory;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.server.ServerProperties;

/** Serves resources: Jersey on Jetty. */
public final class HttpServer {
  private static final Duration SLOWEST_REQUEST = Duration.ofSeconds(10);
  private static final Duration LONGEST_STOP = Duration.ofSeconds(5);

  /** Longer than clients keep connections in their pools, so that they close them first. */
  private static final Duration IDLE = Duration.ofSeconds(60);

  private final Server server = new Server();
  private final ServerConnector connector;

  /**
   * Binds the address and serves these resources there.
   *
   * @param calls takes what comes over HTTP/2; empty: nothing does
   */
  public HttpServer(
      InetSocketAddress address,
      Set<Object> resources,
      Sessions sessions,
      Optional<Handler.Wrapper> calls)
      throws Exception {
    HttpConfiguration http = new HttpConfiguration();
    http.setSendServerVersion(false);
    http.setUriCompliance(UriCompliance.UNSAFE); // %2F is a part of a text like any other
    http.setHeaderCacheCaseSensitive(true); // else a token could be read as one in other cases
    connector = new ServerConnector(server, new Connections(http));
    if (calls.isPresent()) {
      connector.addConnectionFactory(new HTTP2CServerConnectionFactory(http));
    }
    connector.setHost(address.getHostString());
    connector.setPort(address.getPort());
    connector.setIdleTimeout(IDLE.toMillis());
    server.addConnector(connector);

    Handler jersey =
        ContainerFactory.createContainer(
            JettyHttpContainer.class, application(resources, sessions));
    Handler web = new UnreadableUris(jersey);
    calls.ifPresent(handler -> handler.setHandler(web));
    SlowRequests slow =
        new SlowRequests(SLOWEST_REQUEST, calls.map(Handler.class::cast).orElse(web));
    connector.addBean(slow, false);
    // No thread waits for a body: Jetty keeps it until it is complete. A larger one is passed on at
    // once, and BodyFilter refuses it.
    Handler eager =
        new EagerContentHandler(
            slow,
            new EagerContentHandler.RetainedContentLoaderFactory(
                BodyFilter.LARGEST + 1024, 16, false));
    server.setHandler(new GracefulHandler(eager));
    ErrorHandler errors = new ErrorHandler(); // of what does not become a request
    errors.setShowStacks(false);
    errors.setShowCauses(false);
    server.setErrorHandler(errors);
    server.setStopTimeout(LONGEST_STOP.toMillis());
    server.start();
  }

  private static ResourceConfig application(Set<Object> resources, Sessions sessions) {
    return new ResourceConfig()
        .registerInstances(resources)
        .registerInstances(
            new HealthResource(),
            new PathFilter(),
            new BodyFilter(),
            new SessionFilter(sessions),
            new Json(),
            new ProblemMapper())
        // Nothing is looked for on the class path: all there is stands here.
        .property(ServerProperties.WADL_FEATURE_DISABLE, true)
        .property(ServerProperties.FEATURE_AUTO_DISCOVERY_DISABLE, true)
        .property(ServerProperties.METAINF_SERVICES_LOOKUP_DISABLE, true)
        .property(ServerProperties.RESPONSE_SET_STATUS_OVER_SEND_ERROR, true);
  }

  /** The port that was bound. */
  public int port() {
    return connector.getLocalPort();
  }

  /** Takes no more requests, and waits a while for those under way. */
  public void stop() throws Exception {
    server.stop();
  }
}
