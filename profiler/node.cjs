// Loaded by Node.js before the program (--require): samples its main thread from the first
// moment and leaves what it has seen in a file when the program ends.
'use strict';
const { isMainThread } = require('node:worker_threads');

if (isMainThread) {
  const { writeFileSync } = require('node:fs');
  const { join } = require('node:path');
  const { Session } = require('node:inspector');

  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 1000 }); // microseconds
  session.post('Profiler.start');
  const began = Date.now();
  let written = false;

  // A session in its own thread answers at once.
  const write = () => {
    if (written) return;
    written = true;
    session.post('Profiler.stop', (error, { profile } = {}) => {
      if (error) return;
      const file = join(process.env.CLEAVE_PROFILES, `${process.pid}.cpuprofile`);
      writeFileSync(file, JSON.stringify({ ...profile, began }));
    });
  };
  process.on('exit', write);
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const end = () => {
      if (process.listenerCount(signal) > 1) return; // the program ends itself
      write();
      process.removeListener(signal, end);
      if (process.pid === 1) process.exit(); // the kernel keeps the signal from a container's first process
      process.kill(process.pid, signal);
    };
    process.on(signal, end);
  }
}
