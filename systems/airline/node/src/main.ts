/** A unit of the airline: one process, or a cluster of them. Its settings are in its environment. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { type Config, ConfigError, readConfig } from './config.js';
import { loadData, startUnit } from './unit.js';

/** The time that requests in flight have at the end, in milliseconds. */
const grace = 5000;

/** Resolves at the first SIGTERM or SIGINT; further signals do not end the process sooner. */
function askedToEnd(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGTERM', resolve);
    process.on('SIGINT', resolve);
  });
}

async function serve(config: Config, end: Promise<void>): Promise<void> {
  const unit = await startUnit(config);
  await end;
  setTimeout(() => process.exit(0), grace);
  await unit.close();
}

/** Starts the processes of a cluster, and ends when one of them does. */
async function lead(config: Config, end: Promise<void>): Promise<void> {
  const workers = Array.from({ length: config.workers }, () => cluster.fork());
  const ended = workers.map((worker) => once(worker, 'exit'));
  const first = await Promise.race([end.then(() => undefined), ...ended]);
  workers.forEach((worker) => worker.process.kill('SIGTERM'));
  await Promise.all(ended);
  if (first !== undefined) {
    throw new Error(`a worker has ended (code, signal): ${String(first)}`);
  }
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const end = askedToEnd();
  if (cluster.isPrimary) {
    await loadData(config);
  }
  await (cluster.isPrimary && config.workers > 1 ? lead(config, end) : serve(config, end));
}

try {
  await main();
  process.exit(0);
} catch (error) {
  const misconfigured = error instanceof ConfigError;
  console.error(misconfigured ? `airline: ${error.message}` : error);
  process.exit(misconfigured ? 2 : 1);
}
