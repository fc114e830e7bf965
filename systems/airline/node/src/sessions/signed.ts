import { createSigner, createVerifier } from 'fast-jwt';
import { randomUUID } from 'node:crypto';
import type { Session, Ticket } from '../domain/model.js';
import type { SessionBook } from '../domain/ports.js';

/**
 * Sessions that are signed tokens (JWT, HS256): units with the key check them without asking auth. The price
 * is that a logout cannot end one before it expires.
 */
export class SignedSessions implements SessionBook {
  private readonly sign: (payload: { sub: string; exp: number; jti: string }) => string;
  private readonly verify: (token: string) => unknown;

  constructor(
    key: Buffer,
    private readonly seconds: number,
  ) {
    this.sign = createSigner({ key, algorithm: 'HS256' });
    this.verify = createVerifier({ key, algorithms: ['HS256'], requiredClaims: ['sub', 'exp', 'jti'] });
  }

  open(login: string): Promise<Ticket> {
    const exp = Math.floor(Date.now() / 1000) + this.seconds;
    const token = this.sign({ sub: login, exp, jti: randomUUID() });
    return Promise.resolve({ token, expires: rfc3339(exp) });
  }

  find(token: string): Promise<Session | undefined> {
    let claims;
    try {
      claims = this.verify(token) as { sub: string; exp: number };
    } catch {
      return Promise.resolve(undefined); // it is not valid
    }
    return Promise.resolve({ login: claims.sub, expires: rfc3339(claims.exp) });
  }

  /** Does nothing: a logout cannot end a signed session. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}

function rfc3339(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
