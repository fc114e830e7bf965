/** Answers other units over gRPC, at the address at which the unit answers HTTP. */
import { Server, ServerCredentials, status, type handleUnaryCall } from '@grpc/grpc-js';
import type { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Credentials, FlightFinder, Sessions } from '../domain/ports.js';
import { Problem } from '../domain/problem.js';
import { type Calls, loadServices } from './proto.js';

/** The beginning of every connection of HTTP/2, and of no request of HTTP/1. */
const greeting = 'PRI';
/** Limits of the silence at the start of a connection, and of the end of one, in milliseconds. */
const patience = { greeting: 10_000, end: 4000 };

/** The components that other units may call. */
export interface Asked {
  sessions?: Sessions;
  credentials?: Credentials;
  flights?: FlightFinder;
}

/** Calls that are answered on connections of an HTTP server. */
export interface Answers {
  /** Takes no new calls and ends when those under way are answered. */
  end(): void;
}

/** Answers gRPC on the connections of an HTTP server that begin as HTTP/2 does. */
export function answerOver(http: HttpServer, { sessions, credentials, flights }: Asked): Answers {
  const services = loadServices();
  const grpc = new Server();
  if (sessions !== undefined) {
    const FindSession = answer<'FindSession'>(async ({ token }) => ({
      session: (await sessions.find(token)) ?? null,
    }));
    grpc.addService(services.Auth, { FindSession });
  }
  if (credentials !== undefined) {
    const CheckPassword = answer<'CheckPassword'>(async ({ login, password }) => ({
      right: await credentials.check(login, password),
    }));
    grpc.addService(services.Customers, { CheckPassword });
  }
  if (flights !== undefined) {
    const FindFlight = answer<'FindFlight'>(async ({ id }) => ({
      flight: (await flights.flight(id)) ?? null,
    }));
    grpc.addService(services.Flights, { FindFlight });
  }
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  const undecided = fork(http, (socket) => {
    injector.injectConnection(socket);
  });
  return {
    end: () => {
      undecided.forEach((socket) => socket.destroy());
      injector.drain(patience.end);
      injector.destroy();
    },
  };
}

function answer<M extends keyof Calls>(
  find: (question: Calls[M][0]) => Promise<Calls[M][1]>,
): handleUnaryCall<Calls[M][0], Calls[M][1]> {
  return ({ request }, callback) => {
    find(request).then(
      (found) => {
        callback(null, found);
      },
      (error: unknown) => {
        if (error instanceof Problem && error.kind === 'unavailable') {
          callback({ code: status.UNAVAILABLE, details: error.message });
        } else {
          console.error('airline: a call of another unit failed:', error);
          callback({ code: status.INTERNAL, details: 'the log of the unit says how' });
        }
      },
    );
  };
}

/**
 * Hands each connection to gRPC or HTTP by its first bytes. Returns the set of those that have sent nothing
 * yet.
 */
function fork(http: HttpServer, toGrpc: (socket: Socket) => void): Set<Socket> {
  const toHttp = http.listeners('connection') as ((socket: Socket) => void)[];
  const undecided = new Set<Socket>();
  http.removeAllListeners('connection');
  http.on('connection', (socket: Socket) => {
    undecided.add(socket);
    const forget = () => undecided.delete(socket);
    const giveUp = () => socket.destroy();
    socket.setTimeout(patience.greeting, giveUp);
    socket.on('error', giveUp);
    socket.once('close', forget);
    socket.once('data', (begun) => {
      socket.pause();
      forget();
      socket.off('close', forget).off('error', giveUp).setTimeout(0).off('timeout', giveUp);
      socket.unshift(begun);
      if (begun.toString('latin1', 0, greeting.length) === greeting) {
        toGrpc(socket);
      } else {
        toHttp.forEach((serve) => {
          serve.call(http, socket);
        });
        socket.resume();
      }
    });
  });
  return undecided;
}
