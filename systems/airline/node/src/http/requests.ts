/** Hooks of routes, which run before their handlers. */
import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Session } from '../domain/model.js';
import type { Sessions } from '../domain/ports.js';
import { Problem } from '../domain/problem.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The customer who sent the request; empty on routes without a session. */
    login: string;
    token: string;
  }
}

/** Adds routes that only requests with a session reach. */
export function requireSession(
  app: FastifyInstance,
  sessions: Sessions,
  addRoutes: (scope: FastifyInstance) => void,
): void {
  app.register((scope, _options, done) => {
    scope.decorateRequest('login', '');
    scope.decorateRequest('token', '');
    scope.addHook('preValidation', async (request) => {
      request.token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
      const session: Session | undefined =
        request.token === '' ? undefined : await sessions.find(request.token);
      if (session === undefined) {
        throw new Problem('no-session', 'the header Authorization has no token of a session: log in');
      }
      request.login = session.login;
    });
    addRoutes(scope);
    done();
  });
}

/** Parses the body as JSON; a hook of its own, since the session is checked before. */
export function parseBody(request: FastifyRequest, _reply: unknown, done: (problem?: Problem) => void): void {
  const body = request.body;
  try {
    request.body =
      Buffer.isBuffer(body) && isUtf8(body) ? (JSON.parse(body.toString()) as unknown) : undefined;
  } catch {
    request.body = undefined;
  }
  done(request.body === undefined ? new Problem('bad-request', 'the body is not JSON in UTF-8') : undefined);
}

/** Refuses a query with broken escapes, which its parser would leave as they are. */
export function requireEscapes(
  request: FastifyRequest,
  _reply: unknown,
  done: (problem?: Problem) => void,
): void {
  const broken = /%(?![0-9a-f]{2})/i.test(request.url);
  done(broken ? new Problem('bad-request', 'the query has a % without two hex digits') : undefined);
}

/** Refuses a request for the data of another customer. */
export function requireOwner(request: FastifyRequest, login: string): void {
  if (request.login !== login) {
    throw new Problem('not-yours', `you are not customer ${JSON.stringify(login)}`);
  }
}
