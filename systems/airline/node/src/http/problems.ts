import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Socket } from 'node:net';
import { Problem, type ProblemKind } from '../domain/problem.js';

/** Status and title of every problem (RFC 9457). */
const meanings: Record<ProblemKind, [status: number, title: string]> = {
  'bad-request': [400, 'The request is not valid'],
  'wrong-credentials': [401, 'Login or password is wrong'],
  'no-session': [401, 'There is no such session, or it has expired'],
  'not-yours': [403, 'This belongs to another customer'],
  'unknown-path': [404, 'There is nothing here'],
  'unknown-airport': [404, 'No such airport'],
  'unknown-flight': [404, 'No such flight'],
  'unknown-booking': [404, 'No such booking'],
  'wrong-method': [405, 'This method is not allowed here'],
  'already-booked': [409, 'This flight is booked already'],
  'too-large': [413, 'The request is too large'],
  unavailable: [503, 'A part of the airline does not answer; try again'],
  internal: [500, 'This could not be carried out'],
};

function render(problem: Problem, status?: number) {
  const [usual, title] = meanings[problem.kind];
  return { type: `/problems/${problem.kind}`, title, status: status ?? usual, detail: problem.message };
}

/** Answers a problem; a status other than its usual one is for other units, not for the public. */
export function sendProblem(reply: FastifyReply, problem: Problem, status?: number): FastifyReply {
  const body = render(problem, status);
  return reply.code(body.status).type('application/problem+json').send(JSON.stringify(body));
}

/**
 * Answers every error of a request, for Fastify. Unexpected errors are logged and not shown to the client. A
 * client that disconnects in the middle of its request is no error.
 */
export function onError(error: FastifyError | Problem, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof Problem) {
    sendProblem(reply, error);
  } else if (error.statusCode === 413) {
    refuseLarge(request, reply);
  } else if (error.statusCode !== undefined && error.statusCode < 500) {
    sendProblem(reply, new Problem('bad-request', 'the request cannot be read'));
  } else if (!request.raw.destroyed || request.raw.complete) {
    console.error(`airline: ${request.method} ${request.routeOptions.url ?? ''} failed:`, error);
    sendProblem(reply, new Problem('internal', 'the airline has failed; its log says how'));
  }
}

/**
 * Answers when the rest of the body has come and been thrown away: a front that still writes would find the
 * connection reset and make up an answer of its own. The server's requestTimeout bounds the wait.
 */
function refuseLarge({ raw }: FastifyRequest, reply: FastifyReply): void {
  const answer = () => {
    sendProblem(reply, new Problem('too-large', 'the body has more than 16 KiB'));
  };
  if (raw.readableEnded) {
    answer();
  } else {
    raw.once('end', answer).resume();
  }
}

/** Ends a connection that does not speak HTTP, or not within the time for a request. */
export function onClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  const body = JSON.stringify(render(new Problem('bad-request', 'the request is not valid HTTP')));
  socket.end(
    'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/problem+json\r\n' +
      `Content-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
  );
}
