/** Tests with several processes. They run the compiled code (npm test compiles it first). */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { EmbeddedStore } from '../src/store/embedded.js';
import { ask, folder, freeAddress, login, small } from './airline.js';

const dist = new URL('../dist', import.meta.url).pathname;

/** Starts a unit as a process and waits until it serves. */
async function spawnUnit(environment: Record<string, string>): Promise<ChildProcess> {
  const unit = spawn(process.execPath, [`${dist}/main.js`], {
    env: { ...small, ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  onTestFinished(async () => {
    if (unit.exitCode === null && unit.signalCode === null) {
      unit.kill('SIGTERM');
      await once(unit, 'exit');
    }
  });
  const address = environment['CLEAVE_ADDRESS'] ?? '';
  for (let tries = 0; tries < 200; tries++) {
    const healthy = await ask(address, 'GET', '/health').catch(() => undefined);
    if (healthy !== undefined) {
      return unit;
    }
    await sleep(50);
  }
  throw new Error('the unit does not serve');
}

test('a store sees at once what another process has written', async () => {
  const path = folder();
  const store = new EmbeddedStore(path);
  const token = 'a'.repeat(32);
  expect(await store.session(token)).toBeUndefined();
  const script = `import { EmbeddedStore } from '${dist}/store/embedded.js';
    const store = new EmbeddedStore('${path}');
    await store.putSession('${token}', { login: 'c1', expires: 'x' });
    await store.close();`;
  const looked = store.session(token).then(() => {
    // In the same turn of the event loop, so that the view of the first look could still be there.
    execFileSync(process.execPath, ['--input-type=module', '-e', script]);
    return store.session(token);
  });
  expect(await looked).toEqual({ login: 'c1', expires: 'x' });
  await store.close();
});

test('workers of a cluster book a flight once', { timeout: 30_000 }, async () => {
  const address = await freeAddress();
  const unit = await spawnUnit({ CLEAVE_ADDRESS: address, AIRLINE_DATA: folder(), AIRLINE_WORKERS: '3' });
  const token = await login(address, 1);
  for (let k = 1; k <= 12; k++) {
    const order = { flights: [`AMS-ATH-20260101-${String(k)}`, `ATH-AMS-20260102-${String(k)}`] };
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => ask(address, 'POST', '/bookings', token, order)),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
  }
  const { body } = await ask(address, 'GET', '/internal/bookings');
  expect((body as string).trim().split('\n')).toHaveLength(24);
  unit.kill('SIGTERM');
  expect(await once(unit, 'exit')).toEqual([0, null]);
});
