import type { Ticket } from './model.js';
import type { Credentials, SessionBook } from './ports.js';
import { Problem } from './problem.js';

/** Logging in and out. */
export class Auth {
  constructor(
    private readonly sessions: SessionBook,
    private readonly credentials: Credentials,
  ) {}

  async login(login: string, password: string): Promise<Ticket> {
    if (!(await this.credentials.check(login, password))) {
      throw new Problem('wrong-credentials', 'no customer has this login and password');
    }
    return this.sessions.open(login);
  }

  logout(token: string): Promise<void> {
    return this.sessions.close(token);
  }
}
