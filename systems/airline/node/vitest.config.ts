import { defineConfig } from 'vitest/config';

// Processes, not threads: each test file has LMDB's addon for itself. A busy machine may take long.
export default defineConfig({ test: { include: ['test/**/*.test.ts'], pool: 'forks', testTimeout: 60_000 } });
