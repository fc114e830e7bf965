/** Starts units in the process of a test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readConfig } from '../src/config.js';
import { loadData, startUnit } from '../src/unit.js';

/** A folder that is gone after the test. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'airline-'));
  onTestFinished(() => {
    rmSync(made, { recursive: true });
  });
  return made;
}

/** An address of the loopback that nobody listens at. */
export async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${String(port)}`;
}

export const small = {
  AIRLINE_CUSTOMERS: '20',
  AIRLINE_AIRPORTS: '3',
  AIRLINE_DAYS: '2',
  AIRLINE_FLIGHTS: '12',
};

/** Starts a unit that ends with the test. */
export async function start(environment: Record<string, string>): Promise<void> {
  const config = readConfig({ ...small, AIRLINE_DATA: folder(), ...environment });
  await loadData(config);
  const unit = await startUnit(config);
  onTestFinished(() => unit.close());
}

export interface Reply {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Sends a request as a customer would; text is sent as it is, everything else as JSON. */
export async function ask(
  address: string,
  method: string,
  path: string,
  token?: string,
  body?: unknown,
): Promise<Reply> {
  const answer = await fetch(`http://${address}${path}`, {
    method,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const json = answer.headers.get('content-type')?.includes('json;') ?? false;
  return {
    status: answer.status,
    headers: answer.headers,
    body: json ? (JSON.parse(text) as unknown) : text,
  };
}

/** Logs a customer in and returns the token. */
export async function login(address: string, n: number): Promise<string> {
  const { body } = await ask(address, 'POST', '/login', undefined, {
    login: `c${String(n)}`,
    password: `password-${String(n)}`,
  });
  return (body as { token: string }).token;
}
