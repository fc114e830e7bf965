import { createServer } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { writeFileSync } from 'node:fs';
import { ask, folder, freeAddress, login, start, startServices } from './airline.js';

test.each(['http', 'grpc'])('the services do together what the monolith does, over %s', async (calls) => {
  const { addresses } = await startServices({ AIRLINE_CALLS: calls });
  const token = await login(addresses.auth, 3);
  expect(await ask(addresses.customers, 'GET', '/customers/c3', token)).toMatchObject({ status: 200 });
  expect(
    await ask(addresses.flights, 'GET', '/flights?from=AMS&to=ATH&date=2026-01-01', token),
  ).toMatchObject({ status: 200 });
  const order = { flights: ['AMS-ATH-20260101-1'] };
  expect(await ask(addresses.bookings, 'POST', '/bookings', token, order)).toMatchObject({ status: 201 });
  expect(await ask(addresses.bookings, 'POST', '/bookings', token, order)).toMatchObject({ status: 409 });
  const unknown = { flights: ['AMS-ATH-20260101-99'] };
  expect(await ask(addresses.bookings, 'POST', '/bookings', token, unknown)).toMatchObject({ status: 404 });
  expect(await ask(addresses.auth, 'POST', '/logout', token)).toMatchObject({ status: 204 });
  expect(await ask(addresses.bookings, 'POST', '/bookings', token, order)).toMatchObject({ status: 401 });
  const nobody = { login: 'c3', password: 'x' };
  expect(await ask(addresses.auth, 'POST', '/login', undefined, nobody)).toMatchObject({ status: 401 });
  expect(await ask(addresses.auth, 'GET', `/internal/sessions/${token}`)).toMatchObject({
    status: 404,
    body: { type: '/problems/no-session', status: 404 },
  });
  expect(await ask(addresses.flights, 'POST', '/login')).toMatchObject({ status: 404 });
});

test.each(['http', 'grpc'])('without its peer a unit is unavailable, over %s', async (calls) => {
  const { addresses, units } = await startServices({ AIRLINE_CALLS: calls });
  const token = await login(addresses.auth, 3);
  const order = { flights: ['AMS-ATH-20260101-1'] };
  await units.flights.close();
  expect((await ask(addresses.bookings, 'POST', '/bookings', token, order)).body).toMatchObject({
    type: '/problems/unavailable',
    status: 503,
    detail: 'flights does not answer',
  });
  await start({
    AIRLINE_UNIT: 'flights',
    CLEAVE_ADDRESS: addresses.flights,
    CLEAVE_ADDRESS_AUTH: addresses.auth,
    AIRLINE_CALLS: calls,
  });
  const serves = async () => {
    expect(await ask(addresses.bookings, 'POST', '/bookings', token, order)).toMatchObject({ status: 201 });
  };
  await vi.waitFor(serves, 3000); // over gRPC it is looked for again after a pause
});

test('with signed tokens, nobody asks auth', async () => {
  const key = `${folder()}/key`;
  writeFileSync(key, `${'0a'.repeat(32)}\n`);
  const { addresses, units } = await startServices({ AIRLINE_SESSIONS: 'token', AIRLINE_KEY: key });
  const token = await login(addresses.auth, 3);
  await units.auth.close();
  expect(await ask(addresses.customers, 'GET', '/customers/c3', token)).toMatchObject({ status: 200 });
  expect(await ask(addresses.customers, 'GET', '/customers/c3', `${token}x`)).toMatchObject({ status: 401 });
});

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
