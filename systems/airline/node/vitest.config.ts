import { defineConfig } from 'vitest/config';

// Processes, not threads: each test file has LMDB's addon for itself.
export default defineConfig({ test: { include: ['test/**/*.test.ts'], pool: 'forks' } });
