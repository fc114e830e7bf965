import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../src/config.js';
import { MongoStore } from '../src/store/mongo.js';

const least = { CLEAVE_ADDRESS: '127.0.0.1:18080', AIRLINE_DATA: '/tmp/x' };

test('settings that are not given have their defaults', () => {
  expect(readConfig(least)).toEqual({
    unit: 'monolith',
    host: '127.0.0.1',
    port: 18080,
    data: '/tmp/x',
    database: undefined,
    peers: { auth: '', customers: '', flights: '' },
    size: { customers: 200, airports: 14, days: 30, flights: 2, firstDay: '2026-01-01' },
    sessionSeconds: 1800,
    key: undefined,
    keepConnections: true,
    calls: 'http',
    workers: 1,
  });
});

test.each([
  ['AIRLINE_DATA', ''],
  ['CLEAVE_ADDRESS', 'here'],
  ['CLEAVE_ADDRESS', '127.0.0.1:70000'],
  ['AIRLINE_SESSION_SECONDS', ''],
  ['AIRLINE_WORKERS', '0'],
])('%s=%s is refused with name and value', (name, value) => {
  const read = () => readConfig({ ...least, [name]: value });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(`${name} is ${JSON.stringify(value)}, want `);
});

test('a unit may run a process for each core that it finds', () => {
  expect(readConfig({ ...least, AIRLINE_WORKERS: 'cores' }).workers).toBe(availableParallelism());
  expect(readConfig(least).workers).toBe(1);
});

test.each([
  ['auth', 'CLEAVE_ADDRESS_CUSTOMERS'],
  ['flights', 'CLEAVE_ADDRESS_AUTH'],
])('unit %s needs %s', (unit, name) => {
  expect(() => readConfig({ ...least, AIRLINE_UNIT: unit })).toThrow(name);
});

test('a database needs a URL, which no error shows, and no folder', () => {
  const env = { CLEAVE_ADDRESS: '127.0.0.1:18080', AIRLINE_STORE: 'mongodb' };
  const url = 'mongodb://user:secret@127.0.0.1:1/';
  expect(readConfig({ ...env, CLEAVE_SERVICE_DATABASE: url }).database).toBe(url);
  const read = () => readConfig({ ...env, CLEAVE_SERVICE_DATABASE: 'postgres://user:secret@127.0.0.1' });
  expect(read).toThrow(new ConfigError('CLEAVE_SERVICE_DATABASE is no URL that begins with mongodb://'));
  expect(() => new MongoStore('mongodb://user:secret@:1:2/', 1)).toThrow(
    new Error('the URL of the database is none that its driver can use'),
  );
});

test('token needs a key', () => {
  expect(() => readConfig({ ...least, AIRLINE_SESSIONS: 'token', AIRLINE_KEY: '/nowhere' })).toThrow(
    'AIRLINE_KEY',
  );
});
