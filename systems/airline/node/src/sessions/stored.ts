import { randomBytes } from 'node:crypto';
import type { Session, Ticket } from '../domain/model.js';
import type { SessionBook, SessionStore } from '../domain/ports.js';

/** Reports whether a text has the form of a stored session's token: others need no look-up. */
export function isToken(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** Sessions that are kept in a store; their tokens are random. */
export class StoredSessions implements SessionBook {
  constructor(
    private readonly store: SessionStore,
    private readonly seconds: number,
  ) {}

  async open(login: string): Promise<Ticket> {
    const token = randomBytes(16).toString('hex');
    const expires = new Date(Date.now() + this.seconds * 1000).toISOString();
    await this.store.putSession(token, { login, expires });
    return { token, expires };
  }

  async find(token: string): Promise<Session | undefined> {
    const session = isToken(token) ? await this.store.session(token) : undefined;
    if (session === undefined || Date.parse(session.expires) > Date.now()) {
      return session;
    }
    await this.store.removeSession(token);
    return undefined;
  }

  close(token: string): Promise<void> {
    return this.store.removeSession(token);
  }
}
