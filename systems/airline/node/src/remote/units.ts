/** The other units: what they are asked, and asking them over HTTP. */
import { Agent, type Dispatcher } from 'undici';
import type { Flight, Session } from '../domain/model.js';
import type { Credentials, FlightFinder, Sessions } from '../domain/ports.js';
import { Problem } from '../domain/problem.js';
import { isToken } from '../sessions/stored.js';

const timeout = 5000;

/** host:port of other units. */
export interface Peers {
  auth: string;
  customers: string;
  flights: string;
}

/** Asks other units. */
export interface Remote {
  sessions(): Sessions;
  credentials(): Credentials;
  flights(): FlightFinder;
  close(): Promise<void>;
}

/** Asks other units over connections that are kept open for the next call, or one for each. */
export function overHttp(peers: Peers, keptOpen: boolean): Remote {
  const dispatcher = new Agent({
    pipelining: keptOpen ? 1 : 0, // undici's way to say that a connection serves one request
    headersTimeout: timeout,
    bodyTimeout: timeout,
    connect: { timeout },
  });
  const peer = (name: keyof Peers) => ({ name, address: peers[name], dispatcher });
  return {
    sessions: () => new RemoteSessions(peer('auth')),
    credentials: () => new RemoteCredentials(peer('customers')),
    flights: () => new RemoteFlights(peer('flights')),
    close: () => dispatcher.close(),
  };
}

/** Where another unit is, and what calls it goes through. */
interface Peer {
  name: string;
  /** host:port */
  address: string;
  dispatcher: Dispatcher;
}

interface Answer {
  status: number;
  body: string;
}

/** Calls a unit once: who is called may have done it even where no answer comes. */
async function call(peer: Peer, method: 'GET' | 'POST', path: string, content?: object): Promise<Answer> {
  let answer: Answer;
  try {
    const { statusCode, body } = await peer.dispatcher.request({
      origin: `http://${peer.address}`,
      path,
      method,
      signal: AbortSignal.timeout(timeout),
      ...(content && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) }),
    });
    answer = { status: statusCode, body: await body.text() };
  } catch {
    throw new Problem('unavailable', `${peer.name} does not answer`);
  }
  if (answer.status === 503) {
    throw new Problem('unavailable', `${peer.name} cannot answer now`);
  }
  return answer;
}

function unexpected(peer: Peer, { status, body }: Answer): Error {
  return new Error(`${peer.name} answered ${String(status)}: ${body.slice(0, 200)}`);
}

class RemoteSessions implements Sessions {
  constructor(private readonly auth: Peer) {}

  async find(token: string): Promise<Session | undefined> {
    if (!isToken(token)) {
      return undefined;
    }
    const answer = await call(this.auth, 'GET', `/internal/sessions/${encodeURIComponent(token)}`);
    switch (answer.status) {
      case 200:
        return JSON.parse(answer.body) as Session;
      case 404:
        return undefined;
      default:
        throw unexpected(this.auth, answer);
    }
  }
}

class RemoteCredentials implements Credentials {
  constructor(private readonly customers: Peer) {}

  async check(login: string, password: string): Promise<boolean> {
    const answer = await call(this.customers, 'POST', '/internal/check', { login, password });
    switch (answer.status) {
      case 204:
        return true;
      case 401:
        return false;
      default:
        throw unexpected(this.customers, answer);
    }
  }
}

class RemoteFlights implements FlightFinder {
  constructor(private readonly flights: Peer) {}

  async flight(id: string): Promise<Flight | undefined> {
    const answer = await call(this.flights, 'GET', `/internal/flights/${encodeURIComponent(id)}`);
    switch (answer.status) {
      case 200:
        return JSON.parse(answer.body) as Flight;
      case 404:
        return undefined;
      default:
        throw unexpected(this.flights, answer);
    }
  }
}
