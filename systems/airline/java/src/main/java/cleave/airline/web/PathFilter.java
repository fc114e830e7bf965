package cleave.airline.web;

import cleave.airline.domain.Problem;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.container.PreMatching;
import jakarta.ws.rs.core.HttpHeaders;
import java.net.URI;

/** Turns off what Jakarta REST does beyond the contract with paths, methods and media types. */
@PreMatching
final class PathFilter implements ContainerRequestFilter {

  @Override
  public void filter(ContainerRequestContext request) {
    URI uri = request.getUriInfo().getRequestUri();
    String path = uri.getRawPath();
    if (path.endsWith("/") || path.contains("//")) {
      throw new Problem(Problem.Kind.UNKNOWN_PATH, "there is no path " + uri.getPath());
    }
    if (path.contains(";")) { // a part of the text like any other, not a matrix parameter
      String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
      request.setRequestUri(uri.resolve(path.replace(";", "%3B") + query));
    }
    // Jakarta REST would answer these two wherever there is a GET; no operation here takes them.
    String method = request.getMethod();
    if (method.equals("HEAD") || method.equals("OPTIONS")) {
      request.setMethod("NO-" + method);
    }
    // There is one form of every body and answer; nonsense in these would be refused.
    request.getHeaders().remove(HttpHeaders.ACCEPT);
    request.getHeaders().remove(HttpHeaders.CONTENT_TYPE);
  }
}
