import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Unit } from '../src/unit.js';
import { ask, freeAddress, login, startOne } from './airline.js';

// One airline for all tests of this file: each has customers and flights of its own.
let address: string;
let unit: Unit;
const data = mkdtempSync(join(tmpdir(), 'airline-'));

beforeAll(async () => {
  address = await freeAddress();
  unit = await startOne({ CLEAVE_ADDRESS: address, AIRLINE_DATA: data });
}, 30_000);

afterAll(async () => {
  await unit.close();
  rmSync(data, { recursive: true });
});

const contact = { phone: '1', address: { street: 'a', city: 'b', postcode: 'c', country: 'd' } };
const good = { login: 'c1', password: 'password-1' };

/** What is refused, as customer c1; "-" before the method: without a session. */
const refusals: [what: string, request: string, body: unknown, status: number, kind: string][] = [
  ['no such path', '-GET /nowhere', undefined, 404, 'unknown-path'],
  ['an empty login', '-GET /customers/', undefined, 404, 'unknown-path'],
  ['a slash at the end', '-POST /login/', good, 404, 'unknown-path'],
  ['a path before its method', '-PATCH /nowhere', undefined, 404, 'unknown-path'],
  ['another method', '-GET /login', undefined, 405, 'wrong-method'],
  ['HEAD', '-OPTIONS /health', undefined, 405, 'wrong-method'],
  ['a rare method', '-PROPFIND /health', undefined, 405, 'wrong-method'],
  ['a method before the size', '-PUT /login', 'x'.repeat(17_000), 405, 'wrong-method'],
  ['a size before the session', '-PUT /customers/c1', 'x'.repeat(16_385), 413, 'too-large'],
  ['a size where no body is read', 'POST /logout', 'x'.repeat(16_385), 413, 'too-large'],
  ['a session before the body', '-PUT /customers/c1', 'x'.repeat(16_384), 401, 'no-session'],
  ['a session before the query', '-GET /flights', undefined, 401, 'no-session'],
  ['a body before its owner', 'PUT /customers/c2', {}, 400, 'bad-request'],
  ['another owner', 'PUT /customers/c2', contact, 403, 'not-yours'],
  ['an owner that does not exist', 'GET /customers/nobody', undefined, 403, 'not-yours'],
  ['the bookings of another', 'GET /customers/c2/bookings', undefined, 403, 'not-yours'],
  ['no body', '-POST /login', undefined, 400, 'bad-request'],
  ['half a body', '-POST /login', '{"login":', 400, 'bad-request'],
  ['null', '-POST /login', 'null', 400, 'bad-request'],
  ['two bodies', '-POST /login', '{}{}', 400, 'bad-request'],
  ['a number for a text', '-POST /login', { ...good, password: 1 }, 400, 'bad-request'],
  ['an empty text', '-POST /login', { ...good, password: '' }, 400, 'bad-request'],
  ['a long text', '-POST /login', { ...good, password: 'é'.repeat(257) }, 400, 'bad-request'],
  ['an unknown field', '-POST /login', { ...good, more: 1 }, 400, 'bad-request'],
  [
    'a field of all objects',
    '-POST /login',
    '{"login":"c1","password":"x","__proto__":{}}',
    400,
    'bad-request',
  ],
  [
    'an unknown field inside',
    'PUT /customers/c1',
    { ...contact, address: { ...contact.address, x: 1 } },
    400,
    'bad-request',
  ],
  [
    'a long, but right text',
    '-POST /login',
    { ...good, password: '𝄞'.repeat(256) },
    401,
    'wrong-credentials',
  ],
  ['the password of another', '-POST /login', { ...good, password: 'password-2' }, 401, 'wrong-credentials'],
  ['nobody', '-POST /login', { ...good, login: 'nobody' }, 401, 'wrong-credentials'],
  ['no date', 'GET /flights?from=AMS&to=ATH', undefined, 400, 'bad-request'],
  [
    'two dates',
    'GET /flights?from=AMS&to=ATH&date=2026-01-01&date=2026-01-01',
    undefined,
    400,
    'bad-request',
  ],
  ['no such date', 'GET /flights?from=AMS&to=ATH&date=2026-02-29', undefined, 400, 'bad-request'],
  ['half an escape', 'GET /flights?from=%4&to=ATH&date=2026-01-01', undefined, 400, 'bad-request'],
  ['no such airport', 'GET /flights?from=AMS&to=ZRH&date=2026-01-01', undefined, 404, 'unknown-airport'],
  [
    'an airport in small letters',
    'GET /flights?from=ams&to=ATH&date=2026-01-01',
    undefined,
    404,
    'unknown-airport',
  ],
  ['no flights', 'POST /bookings', { flights: [] }, 400, 'bad-request'],
  [
    'a flight twice',
    'POST /bookings',
    { flights: ['AMS-ATH-20260101-1', 'AMS-ATH-20260101-1'] },
    400,
    'bad-request',
  ],
  ['three flights', 'POST /bookings', { flights: ['a', 'b', 'c'] }, 400, 'bad-request'],
  [
    'no such flight',
    'POST /bookings',
    { flights: ['AMS-ATH-20260101-1', 'AMS-ATH-20260101-13'] },
    404,
    'unknown-flight',
  ],
  ['what cannot be a flight', 'POST /bookings', { flights: ['\u0000'.repeat(256)] }, 404, 'unknown-flight'],
  ['no such booking', 'DELETE /bookings/0123456789abcdef0123456789abcdef', undefined, 404, 'unknown-booking'],
  ['what cannot be a booking', `DELETE /bookings/${'x'.repeat(3000)}`, undefined, 404, 'unknown-booking'],
];

test.each(refusals)('%s: %s', async (_what, request, body, status, kind) => {
  const anonymous = request.startsWith('-');
  const [method = '', path = ''] = request.slice(anonymous ? 1 : 0).split(' ');
  const reply = await ask(address, method, path, anonymous ? undefined : await login(address, 1), body);
  expect(reply.body).toMatchObject({ type: `/problems/${kind}`, status });
  expect(reply.status).toBe(status);
  expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/);
});

test.each(['nonsense', '', 'text/html; charset=utf-16'])(
  'a body is JSON, even if it is called %j',
  async (type) => {
    const body = JSON.stringify(good);
    const answer = await fetch(`http://${address}/login`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    expect(answer.status).toBe(200);
  },
);

test('a wrong method is told the right ones', async () => {
  const { headers } = await ask(address, 'POST', '/customers/c1');
  expect(headers.get('allow')).toBe('GET, PUT');
});

test.each([
  ['nothing', ''],
  ['a letter', 'x'],
  ['what could be one', 'a'.repeat(32)],
  ['a long text', 'x'.repeat(5000)],
  ['two words', 'two words'],
])('%s as a token opens nothing', async (_what, token) => {
  expect(await ask(address, 'GET', '/customers/c1', token)).toMatchObject({ status: 401 });
});

test('a day with twelve flights, there and back', async () => {
  const token = await login(address, 1);
  const path = '/flights?from=AMS&to=ATL&date=2026-01-02&return=2026-01-01&other=1';
  const { body } = await ask(address, 'GET', path, token);
  const { outbound, inbound } = body as { outbound: { id: string }[]; inbound: { id: string }[] };
  const numbers = Array.from({ length: 12 }, (_, k) => String(k + 1));
  expect(outbound.map(({ id }) => id)).toEqual(numbers.map((k) => `AMS-ATL-20260102-${k}`));
  expect(inbound.map(({ id }) => id)).toEqual(numbers.map((k) => `ATL-AMS-20260101-${k}`));
  expect(await ask(address, 'GET', '/flights?from=AMS&to=AMS&date=2027-01-01', token)).toMatchObject({
    status: 200,
    body: { outbound: [], inbound: [] },
  });
});

test('bookings: all or none, once, listed, cancelled by their owner', async () => {
  const [one, two] = [await login(address, 1), await login(address, 2)];
  const pair = ['ATH-AMS-20260102-2', 'AMS-ATH-20260101-1'];
  const made = await ask(address, 'POST', '/bookings', one, { flights: pair });
  const { bookings } = made.body as { bookings: { id: string; flight: string; booked: string }[] };
  expect(made.status).toBe(201);
  expect(bookings.map(({ flight }) => flight)).toEqual(pair);
  expect(bookings[0]?.booked).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  const again = await ask(address, 'POST', '/bookings', one, { flights: ['AMS-ATH-20260101-2', pair[1]] });
  expect(again.body).toMatchObject({ type: '/problems/already-booked', status: 409 });
  const listed = await ask(address, 'GET', '/customers/c1/bookings', one);
  expect((listed.body as { bookings: unknown[] }).bookings).toHaveLength(2);
  expect(await ask(address, 'POST', '/bookings', two, { flights: pair })).toMatchObject({ status: 201 });

  const path = `/bookings/${bookings[0]?.id ?? ''}`;
  expect(await ask(address, 'DELETE', path, two)).toMatchObject({ status: 403 });
  expect(await ask(address, 'DELETE', path, one)).toMatchObject({ status: 204, body: '' });
  expect(await ask(address, 'DELETE', path, one)).toMatchObject({ status: 404 });
  expect(await ask(address, 'POST', '/bookings', one, { flights: [pair[0]] })).toMatchObject({ status: 201 });
  const audit = await ask(address, 'GET', '/internal/bookings');
  expect(audit.headers.get('content-type')).toBe('application/x-ndjson');
  expect((audit.body as string).split('\n')).toHaveLength(4 + 1);
});

test('of many cancellations at once one is right', async () => {
  const token = await login(address, 3);
  const made = await ask(address, 'POST', '/bookings', token, { flights: ['ATH-AMS-20260102-3'] });
  const [booking] = (made.body as { bookings: { id: string }[] }).bookings;
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => ask(address, 'DELETE', `/bookings/${booking?.id ?? ''}`, token)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array.from({ length: 7 }, () => 404)]);
});

test('what a customer changes stays, and nothing else changes', async () => {
  const token = await login(address, 7);
  const before = await ask(address, 'GET', '/customers/c7', token);
  const changed = await ask(address, 'PUT', '/customers/c7', token, contact);
  expect(changed.body).toEqual({ ...(before.body as object), ...contact });
  expect(await ask(address, 'GET', '/customers/c7', token)).toMatchObject({
    status: 200,
    body: changed.body,
  });
});

test('a logout ends a session', async () => {
  const token = await login(address, 1);
  expect(await ask(address, 'POST', '/logout', token, 'no JSON')).toMatchObject({ status: 204 });
  expect(await ask(address, 'POST', '/logout', token)).toMatchObject({ status: 401 });
});
