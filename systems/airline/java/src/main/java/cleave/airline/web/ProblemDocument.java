package cleave.airline.web;

import cleave.airline.domain.Problem;
import jakarta.ws.rs.core.Response;
import java.util.Locale;

/** A problem document of RFC 9457. */
record ProblemDocument(String type, String title, int status, String detail) {

  static Response response(Problem.Kind kind, String detail) {
    Answer answer = answer(kind);
    String type = "/problems/" + kind.name().toLowerCase(Locale.ROOT).replace('_', '-');
    return Response.status(answer.status)
        .type("application/problem+json")
        .entity(new ProblemDocument(type, answer.title, answer.status, detail))
        .build();
  }

  private static Answer answer(Problem.Kind kind) {
    return switch (kind) {
      case BAD_REQUEST -> new Answer(400, "The request is not valid");
      case WRONG_CREDENTIALS -> new Answer(401, "Login or password is wrong");
      case NO_SESSION -> new Answer(401, "There is no such session, or it has expired");
      case NOT_YOURS -> new Answer(403, "This belongs to another customer");
      case UNKNOWN_PATH -> new Answer(404, "There is nothing here");
      case UNKNOWN_AIRPORT -> new Answer(404, "No such airport");
      case UNKNOWN_FLIGHT -> new Answer(404, "No such flight");
      case UNKNOWN_BOOKING -> new Answer(404, "No such booking");
      case WRONG_METHOD -> new Answer(405, "This method is not allowed here");
      case ALREADY_BOOKED -> new Answer(409, "This flight is booked already");
      case TOO_LARGE -> new Answer(413, "The request is too large");
      case UNAVAILABLE -> new Answer(503, "A part of the airline does not answer; try again");
      case INTERNAL -> new Answer(500, "This could not be carried out");
    };
  }

  private record Answer(int status, String title) {}
}
