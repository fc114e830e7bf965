import type { FastifyInstance } from 'fastify';
import type { Config } from './config.js';
import { Auth } from './domain/auth.js';
import { Bookings } from './domain/bookings.js';
import { Customers } from './domain/customers.js';
import { Flights } from './domain/flights.js';
import type { Part, SessionBook, Sessions, Store } from './domain/ports.js';
import * as routes from './http/routes.js';
import { newServer } from './http/server.js';
import { answerOver, type Asked } from './remote/answers.js';
import { overGrpc } from './remote/calls.js';
import { overHttp } from './remote/units.js';
import { SignedSessions } from './sessions/signed.js';
import { StoredSessions } from './sessions/stored.js';
import { EmbeddedStore } from './store/embedded.js';
import { MongoStore } from './store/mongo.js';

/** Limits of the wait for a database, while data are loaded and while customers wait, in milliseconds. */
const patience = { loading: 60_000, serving: 5000 };

/** A part of the airline that serves. */
export interface Unit {
  /** Accepts no more connections and waits for the requests in flight. */
  close(): Promise<void>;
}

/** Makes the data that a unit begins with; no other process may have its store open. */
export async function loadData(config: Config): Promise<void> {
  const store = storeOf(config, patience.loading);
  await store.load(partOf(config), config.size);
  await store.close();
}

function partOf({ unit }: Config): Part {
  return {
    customers: unit === 'monolith' || unit === 'customers',
    flights: unit === 'monolith' || unit === 'flights',
  };
}

function storeOf({ database, data }: Config, wait: number): Store {
  return database === undefined ? new EmbeddedStore(data) : new MongoStore(database, wait);
}

/** Starts a unit whose data is loaded. */
export async function startUnit(config: Config): Promise<Unit> {
  const store = storeOf(config, patience.serving);
  const app = await newServer((server) => {
    addRoutes(server, config, store);
  });
  await app.listen({ host: config.host, port: config.port });
  return {
    close: async () => {
      await app.close();
      await store.close();
    },
  };
}

/**
 * Adds the routes of a unit: it connects the components in this process, or calls the others over HTTP or
 * gRPC.
 */
function addRoutes(app: FastifyInstance, config: Config, store: Store): void {
  const { unit, peers } = config;
  const own: SessionBook =
    config.key === undefined
      ? new StoredSessions(store, config.sessionSeconds)
      : new SignedSessions(config.key, config.sessionSeconds);
  const remote = config.calls === 'grpc' ? overGrpc(peers) : overHttp(peers, config.keepConnections);
  app.addHook('onClose', () => remote.close());
  const answer = (asked: Asked) => {
    if (config.calls === 'grpc') {
      const answers = answerOver(app.server, asked);
      app.addHook('preClose', (done) => {
        answers.end();
        done();
      });
    }
  };
  const flights = new Flights(store);
  const customers = new Customers(store);
  // Units other than auth ask it about sessions, unless their tokens are signed.
  const others: Sessions = config.key === undefined ? remote : own;
  switch (unit) {
    case 'monolith': {
      const bookings = new Bookings(store, flights);
      routes.authRoutes(app, new Auth(own, customers), own);
      routes.customerRoutes(app, customers, own);
      routes.flightRoutes(app, flights, own);
      routes.bookingRoutes(app, bookings, own);
      routes.auditRoutes(app, bookings);
      break;
    }
    case 'auth':
      routes.authRoutes(app, new Auth(own, remote), own);
      routes.internalAuthRoutes(app, own);
      answer({ sessions: own });
      break;
    case 'customers':
      routes.customerRoutes(app, customers, others);
      routes.internalCustomerRoutes(app, customers);
      answer({ credentials: customers });
      break;
    case 'flights':
      routes.flightRoutes(app, flights, others);
      routes.internalFlightRoutes(app, flights);
      answer({ flights });
      break;
    case 'bookings': {
      const bookings = new Bookings(store, remote);
      routes.bookingRoutes(app, bookings, others);
      routes.auditRoutes(app, bookings);
      break;
    }
  }
}
