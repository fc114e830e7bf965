/** The other units: the interface of the calls to them, and calls over HTTP. */
import { Agent } from 'undici';
import type { Flight, Session } from '../domain/model.js';
import type { Credentials, FlightFinder, Sessions } from '../domain/ports.js';
import { Problem } from '../domain/problem.js';
import { isToken } from '../sessions/stored.js';

/** The time limit of a call, and of each of its steps, in milliseconds. */
const timeout = 5000;

/** host:port of other units. */
export interface Peers {
  auth: string;
  customers: string;
  flights: string;
}

/** Asks other units: auth for sessions, customers for credentials, and flights for flights. */
export interface Remote extends Sessions, Credentials, FlightFinder {
  close(): Promise<void>;
}

interface Answer {
  status: number;
  body: string;
}

/** Asks other units over HTTP. It keeps connections open for later calls, or opens one for each call. */
export function overHttp(peers: Peers, keptOpen: boolean): Remote {
  const dispatcher = new Agent({
    pipelining: keptOpen ? 1 : 0, // undici's way to say that a connection serves one request
    headersTimeout: timeout,
    bodyTimeout: timeout,
    connect: { timeout },
  });

  /** Calls a unit once, without a retry: a call without an answer may still have been carried out. */
  async function call(
    peer: keyof Peers,
    method: 'GET' | 'POST',
    path: string,
    content?: object,
  ): Promise<Answer> {
    let answer: Answer;
    try {
      const { statusCode, body } = await dispatcher.request({
        origin: `http://${peers[peer]}`,
        path: `/internal/${path}`,
        method,
        signal: AbortSignal.timeout(timeout),
        ...(content && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) }),
      });
      answer = { status: statusCode, body: await body.text() };
    } catch {
      throw new Problem('unavailable', `${peer} does not answer`);
    }
    if (answer.status === 503) {
      throw new Problem('unavailable', `${peer} cannot answer now`);
    }
    return answer;
  }

  function unexpected(peer: keyof Peers, { status, body }: Answer): Error {
    return new Error(`${peer} answered ${String(status)}: ${body.slice(0, 200)}`);
  }

  /** Returns the JSON that a unit has at a path; undefined if the unit answers with 404. */
  async function get(peer: keyof Peers, path: string): Promise<unknown> {
    const answer = await call(peer, 'GET', path);
    switch (answer.status) {
      case 200:
        return JSON.parse(answer.body);
      case 404:
        return undefined;
      default:
        throw unexpected(peer, answer);
    }
  }

  return {
    find: async (token) =>
      isToken(token) ? ((await get('auth', `sessions/${token}`)) as Session | undefined) : undefined,
    check: async (login, password) => {
      const answer = await call('customers', 'POST', 'check', { login, password });
      if (answer.status !== 204 && answer.status !== 401) {
        throw unexpected('customers', answer);
      }
      return answer.status === 204;
    },
    flight: async (id) => (await get('flights', `flights/${encodeURIComponent(id)}`)) as Flight | undefined,
    close: () => dispatcher.close(),
  };
}
