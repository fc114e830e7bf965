import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { ask, freeAddress, start } from './airline.js';

test.each([
  ['on', 1],
  ['off', 3],
])('with AIRLINE_POOL=%s, three calls take %i connections', async (pool, want) => {
  let connections = 0;
  const expires = new Date(Date.now() + 60_000).toISOString();
  const auth = createServer((_request, reply) => {
    reply.setHeader('content-type', 'application/json').end(JSON.stringify({ login: 'c1', expires }));
  });
  auth.on('connection', () => connections++);
  const [authAddress, address] = [await freeAddress(), await freeAddress()];
  await new Promise<void>((resolve) => auth.listen(Number(authAddress.split(':')[1]), '127.0.0.1', resolve));
  onTestFinished(() => void auth.close());
  await start({
    AIRLINE_UNIT: 'customers',
    AIRLINE_POOL: pool,
    CLEAVE_ADDRESS: address,
    CLEAVE_ADDRESS_AUTH: authAddress,
  });
  for (let i = 0; i < 3; i++) {
    expect(await ask(address, 'GET', '/customers/c1', 'a'.repeat(32))).toMatchObject({ status: 200 });
  }
  expect(connections).toBe(want);
});
