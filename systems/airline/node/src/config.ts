import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { allAirports, type DatasetSize } from './domain/dataset.js';
import type { Peers } from './remote/units.js';

const unitNames = ['monolith', 'auth', 'customers', 'flights', 'bookings'] as const;
export type UnitName = (typeof unitNames)[number];

const callKinds = ['http', 'grpc'] as const;

/** The settings of a unit, from its environment. */
export interface Config {
  unit: UnitName;
  host: string;
  port: number;
  /** Folder of the embedded store. */
  data: string;
  /** URL of the database server; undefined if the unit uses the embedded store. */
  database: string | undefined;
  /** host:port of the units that this one calls. */
  peers: Peers;
  size: DatasetSize;
  sessionSeconds: number;
  /** The key of signed tokens; undefined if units ask auth about sessions. */
  key: Buffer | undefined;
  keepConnections: boolean;
  /** The protocol of calls between units. */
  calls: (typeof callKinds)[number];
  workers: number;
}

/** A value of the environment that is not valid. */
export class ConfigError extends Error {}

type Environment = Record<string, string | undefined>;

export function readConfig(env: Environment): Config {
  const unit = choice(env, 'AIRLINE_UNIT', unitNames, 'monolith');
  const sessions = choice(env, 'AIRLINE_SESSIONS', ['ask', 'token'], 'ask');
  const embedded = choice(env, 'AIRLINE_STORE', ['embedded', 'mongodb'], 'embedded') === 'embedded';
  const data = env['AIRLINE_DATA'] ?? '';
  if (embedded && data === '') {
    throw wrong('AIRLINE_DATA', data, 'a folder for what the unit stores');
  }
  const calls = choice(env, 'AIRLINE_CALLS', callKinds, 'http');
  const pool = choice(env, 'AIRLINE_POOL', ['on', 'off'], 'on');
  if (calls === 'grpc' && pool === 'off') {
    throw wrong('AIRLINE_POOL', pool, 'on, since with AIRLINE_CALLS=grpc connections are kept');
  }
  const asksAuth = sessions === 'ask' && ['customers', 'flights', 'bookings'].includes(unit);
  return {
    unit,
    ...address(env, 'CLEAVE_ADDRESS'),
    data,
    database: embedded ? undefined : databaseUrl(env, 'CLEAVE_SERVICE_DATABASE'),
    peers: {
      auth: peer(env, 'CLEAVE_ADDRESS_AUTH', asksAuth),
      customers: peer(env, 'CLEAVE_ADDRESS_CUSTOMERS', unit === 'auth'),
      flights: peer(env, 'CLEAVE_ADDRESS_FLIGHTS', unit === 'bookings'),
    },
    size: {
      customers: integer(env, 'AIRLINE_CUSTOMERS', 200, 1, 1_000_000),
      airports: integer(env, 'AIRLINE_AIRPORTS', 14, 2, allAirports.length),
      days: integer(env, 'AIRLINE_DAYS', 30, 1, 366),
      flights: integer(env, 'AIRLINE_FLIGHTS', 2, 1, 99),
      firstDay: day(env, 'AIRLINE_FIRST_DAY', '2026-01-01'),
    },
    sessionSeconds: integer(env, 'AIRLINE_SESSION_SECONDS', 1800, 1, 86_400),
    key: sessions === 'token' ? key(env, 'AIRLINE_KEY') : undefined,
    keepConnections: pool === 'on',
    calls,
    workers:
      env['AIRLINE_WORKERS'] === 'cores'
        ? availableParallelism()
        : integer(env, 'AIRLINE_WORKERS', 1, 1, 1024),
  };
}

function wrong(name: string, value: string, want: string): ConfigError {
  return new ConfigError(`${name} is ${JSON.stringify(value)}, want ${want}`);
}

function choice<T extends string>(env: Environment, name: string, values: readonly T[], usual: T): T {
  const value = env[name] ?? usual;
  const chosen = values.find((v) => v === value);
  if (chosen === undefined) {
    throw wrong(name, value, values.join(' or '));
  }
  return chosen;
}

function integer(env: Environment, name: string, usual: number, least: number, most: number): number {
  const value = env[name] ?? String(usual);
  const number = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (!(number >= least && number <= most)) {
    throw wrong(name, value, `a number from ${String(least)} to ${String(most)}`);
  }
  return number;
}

function day(env: Environment, name: string, usual: string): string {
  const value = env[name] ?? usual;
  const date = new Date(`${value}T00:00:00Z`);
  if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== value) {
    throw wrong(name, value, 'a day as YYYY-MM-DD');
  }
  return value;
}

function address(env: Environment, name: string): { host: string; port: number } {
  const value = env[name] ?? '';
  const match = /^(?:\[([0-9a-f:.%]+)\]|([^:]+)):(\d{1,5})$/i.exec(value);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) {
    throw wrong(name, value, 'host:port');
  }
  return { host, port };
}

function peer(env: Environment, name: string, needed: boolean): string {
  if (needed) {
    address(env, name);
  }
  return env[name] ?? '';
}

/** The URL may have secrets: no error repeats it. */
function databaseUrl(env: Environment, name: string): string {
  const value = env[name] ?? '';
  if (!/^mongodb(\+srv)?:\/\//.test(value)) {
    throw new ConfigError(`${name} is no URL that begins with mongodb://`);
  }
  return value;
}

function key(env: Environment, name: string): Buffer {
  const file = env[name] ?? '';
  let text;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch {
    throw wrong(name, file, 'a file that can be read');
  }
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    throw wrong(name, file, 'a file with 32 bytes in hex');
  }
  return Buffer.from(text, 'hex');
}
