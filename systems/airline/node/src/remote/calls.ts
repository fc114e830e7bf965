/** Calls of other units over gRPC. */
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { Problem } from '../domain/problem.js';
import { isToken } from '../sessions/stored.js';
import { type Calls, loadServices, type ServiceName } from './proto.js';
import type { Peers, Remote } from './units.js';

/** The deadline of a call, in milliseconds. */
const timeout = 5000;

// A unit that is back is found soon: the library's own pauses grow to two minutes.
const options = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1000 };

/** Asks other units over one connection to each, which is kept. */
export function overGrpc(peers: Peers): Remote {
  const services = loadServices();
  const clients = new Map<keyof Peers, Client>();
  const ask = <M extends keyof Calls>(
    peer: keyof Peers,
    service: ServiceName,
    method: M,
    question: Calls[M][0],
  ) =>
    new Promise<Calls[M][1]>((resolve, reject) => {
      const client = clients.get(peer) ?? new Client(peers[peer], credentials.createInsecure(), options);
      clients.set(peer, client);
      const definition = services[service][method];
      if (definition === undefined) {
        throw new Error(`airline.proto has no ${service}.${method}`);
      }
      client.makeUnaryRequest(
        definition.path,
        definition.requestSerialize,
        definition.responseDeserialize as (bytes: Buffer) => Calls[M][1],
        question,
        { deadline: Date.now() + timeout },
        (error, answer) => {
          if (error === null && answer !== undefined) {
            resolve(answer);
          } else {
            reject(failure(peer, error));
          }
        },
      );
    });
  return {
    find: async (token) =>
      isToken(token)
        ? ((await ask('auth', 'Auth', 'FindSession', { token })).session ?? undefined)
        : undefined,
    check: async (login, password) =>
      (await ask('customers', 'Customers', 'CheckPassword', { login, password })).right,
    flight: async (id) => (await ask('flights', 'Flights', 'FindFlight', { id })).flight ?? undefined,
    close: () => {
      clients.forEach((client) => {
        client.close();
      });
      return Promise.resolve();
    },
  };
}

/** The error for a call without an answer. */
function failure(peer: string, error: ServiceError | null): Error {
  const silent = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED];
  if (error === null || silent.includes(error.code)) {
    return new Problem('unavailable', `${peer} does not answer`);
  }
  return new Error(`${peer} failed: ${error.message}`);
}
