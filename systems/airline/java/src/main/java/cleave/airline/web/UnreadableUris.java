package cleave.airline.web;

import java.net.URISyntaxException;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Answers requests whose URI Jersey cannot read, which it takes for a fault of the server. */
final class UnreadableUris extends Handler.Wrapper {

  UnreadableUris(Handler handler) {
    super(handler);
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    try {
      return super.handle(request, response, callback);
    } catch (URISyntaxException e) {
      Response.writeError(request, response, callback, HttpStatus.BAD_REQUEST_400);
      return true;
    }
  }
}
