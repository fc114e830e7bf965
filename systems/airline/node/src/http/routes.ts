/** The operations of the components, for the public and for other units, one function each. */
import type { FastifyInstance } from 'fastify';
import { Readable } from 'node:stream';
import type { Auth } from '../domain/auth.js';
import type { Bookings } from '../domain/bookings.js';
import type { Customers } from '../domain/customers.js';
import type { Flights, Trip } from '../domain/flights.js';
import type { Booking, Contact } from '../domain/model.js';
import type { Sessions } from '../domain/ports.js';
import { Problem } from '../domain/problem.js';
import { sendProblem } from './problems.js';
import { parseBody, requireEscapes, requireOwner, requireSession } from './requests.js';
import * as schemas from './schemas.js';

interface Credentials {
  login: string;
  password: string;
}

export function authRoutes(app: FastifyInstance, auth: Auth, sessions: Sessions): void {
  app.post<{ Body: Credentials }>(
    '/login',
    { preValidation: parseBody, schema: { body: schemas.credentials, response: { 200: schemas.ticket } } },
    ({ body }) => auth.login(body.login, body.password),
  );
  requireSession(app, sessions, (scope) => {
    scope.post('/logout', async (request, reply) => {
      await auth.logout(request.token);
      return reply.code(204).send();
    });
  });
}

export function customerRoutes(app: FastifyInstance, customers: Customers, sessions: Sessions): void {
  requireSession(app, sessions, (scope) => {
    scope.get<{ Params: { login: string } }>(
      '/customers/:login',
      { schema: { response: { 200: schemas.customer } } },
      (request) => {
        requireOwner(request, request.params.login);
        return customers.get(request.login);
      },
    );
    scope.put<{ Params: { login: string }; Body: Contact }>(
      '/customers/:login',
      { preValidation: parseBody, schema: { body: schemas.contact, response: { 200: schemas.customer } } },
      (request) => {
        requireOwner(request, request.params.login);
        return customers.update(request.login, request.body);
      },
    );
  });
}

export function flightRoutes(app: FastifyInstance, flights: Flights, sessions: Sessions): void {
  requireSession(app, sessions, (scope) => {
    scope.get<{ Querystring: Trip }>(
      '/flights',
      {
        preValidation: requireEscapes,
        schema: { querystring: schemas.trip, response: { 200: schemas.connections } },
      },
      ({ query }) => flights.search(query),
    );
  });
}

export function bookingRoutes(app: FastifyInstance, bookings: Bookings, sessions: Sessions): void {
  requireSession(app, sessions, (scope) => {
    scope.post<{ Body: { flights: string[] } }>(
      '/bookings',
      { preValidation: parseBody, schema: { body: schemas.order, response: { 201: schemas.bookings } } },
      async (request, reply) => {
        reply.code(201);
        return { bookings: await bookings.book(request.login, request.body.flights) };
      },
    );
    scope.get<{ Params: { login: string } }>(
      '/customers/:login/bookings',
      { schema: { response: { 200: schemas.bookings } } },
      async (request) => {
        requireOwner(request, request.params.login);
        return { bookings: await bookings.list(request.login) };
      },
    );
    scope.delete<{ Params: { id: string } }>('/bookings/:id', async (request, reply) => {
      await bookings.cancel(request.login, request.params.id);
      return reply.code(204).send();
    });
  });
}

/** The requests of other units to auth. An unknown token is a 404 here, and a 401 in the public interface. */
export function internalAuthRoutes(app: FastifyInstance, sessions: Sessions): void {
  app.get<{ Params: { token: string } }>(
    '/internal/sessions/:token',
    { schema: { response: { 200: schemas.session } } },
    async (request, reply) => {
      const session = await sessions.find(request.params.token);
      return session ?? sendProblem(reply, new Problem('no-session', 'nobody has this token'), 404);
    },
  );
}

/** The requests of other units to customers. */
export function internalCustomerRoutes(app: FastifyInstance, customers: Customers): void {
  app.post<{ Body: Credentials }>(
    '/internal/check',
    { preValidation: parseBody, schema: { body: schemas.credentials } },
    async ({ body }, reply) => {
      if (!(await customers.check(body.login, body.password))) {
        throw new Problem('wrong-credentials', 'no customer has this login and password');
      }
      return reply.code(204).send();
    },
  );
}

/** The requests of other units to flights. */
export function internalFlightRoutes(app: FastifyInstance, flights: Flights): void {
  app.get<{ Params: { id: string } }>(
    '/internal/flights/:id',
    { schema: { response: { 200: schemas.flight } } },
    async ({ params }) => {
      const flight = await flights.flight(params.id);
      if (flight === undefined) {
        throw new Problem('unknown-flight', `there is no flight ${JSON.stringify(params.id)}`);
      }
      return flight;
    },
  );
}

/** The request of the audit: all bookings, one a line. */
export function auditRoutes(app: FastifyInstance, bookings: Bookings): void {
  app.get('/internal/bookings', (_request, reply) =>
    reply.type('application/x-ndjson').send(Readable.from(lines(bookings.all()))),
  );
}

async function* lines(bookings: AsyncIterable<Booking> | Iterable<Booking>): AsyncGenerator<string> {
  for await (const booking of bookings) {
    yield JSON.stringify(booking) + '\n';
  }
}
