import { afterEach, expect, test, vi } from 'vitest';
import type { Session } from '../src/domain/model.js';
import type { SessionStore } from '../src/domain/ports.js';
import { SignedSessions } from '../src/sessions/signed.js';
import { StoredSessions } from '../src/sessions/stored.js';
import { EmbeddedStore } from '../src/store/embedded.js';
import { folder } from './airline.js';

class Memory implements SessionStore {
  readonly sessions = new Map<string, Session>();
  session = (token: string) => Promise.resolve(this.sessions.get(token));
  putSession = (token: string, session: Session) => Promise.resolve(void this.sessions.set(token, session));
  removeSession = (token: string) => Promise.resolve(void this.sessions.delete(token));
}

const key = Buffer.alloc(32, 1);

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ['stored', () => new StoredSessions(new Memory(), 60)],
  ['signed', () => new SignedSessions(key, 60)],
])('%s sessions open and expire', async (_name, make) => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
  const sessions = make();
  const { token, expires } = await sessions.open('c1');
  expect(expires).toBe('2026-01-01T00:01:00.000Z');
  vi.setSystemTime(Date.UTC(2026, 0, 1, 0, 0, 59));
  expect(await sessions.find(token)).toEqual({ login: 'c1', expires });
  vi.setSystemTime(Date.UTC(2026, 0, 1, 0, 1, 0, 1));
  expect(await sessions.find(token)).toBeUndefined();
});

test('a stored session that has expired or been closed is gone', async () => {
  const store = new Memory();
  const sessions = new StoredSessions(store, -1);
  await sessions.find((await sessions.open('c1')).token);
  const { token } = await sessions.open('c1');
  expect(store.sessions.size).toBe(1);
  await sessions.close(token);
  expect(store.sessions.size).toBe(0);
});

test('expired sessions are swept from the embedded store', async () => {
  const store = new EmbeddedStore(folder());
  const put = async (kind: string, count: number, seconds: number) => {
    const expires = new Date(Date.now() + seconds * 1000).toISOString();
    for (let i = 0; i < count; i++) {
      await store.putSession(`${kind} ${String(i)}`, { login: 'c1', expires });
    }
  };
  await put('living', 10, 3600);
  await put('expired', 9, -1);
  await put('new', 1, 60); // removes the last expired ones: they are fewer than one session sweeps
  const known = async (kind: string, count: number) => {
    const found = Array.from({ length: count }, (_, i) => store.session(`${kind} ${String(i)}`));
    return (await Promise.all(found)).filter((session) => session !== undefined).length;
  };
  expect([await known('living', 10), await known('expired', 9), await known('new', 1)]).toEqual([10, 0, 1]);
  await store.close();
});
