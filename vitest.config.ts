import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { keepTemporaryFilesInMemory } from './test/support/temporary-files.ts';

/** Without it, test/compat/installed.test.ts says by name what is skipped. */
const compatIsInstalled = existsSync(new URL('test/compat/node_modules', import.meta.url));
/** Without it, test/backends/modal/installed.test.ts says by name what is skipped. */
const modalIsInstalled = existsSync(new URL('test/backends/modal/node_modules', import.meta.url));

keepTemporaryFilesInMemory();

export default defineConfig({
  test: {
    // More than there are cores: much of the suite waits, for processes to start, to time out and to be killed.
    maxWorkers: availableParallelism() * 3,
    // A worker keeps what it has loaded for its next file: a third of the processor time of the small ones.
    isolate: false,
    // The heap that V8 begins with is small for a process that runs tests for minutes: it would spend its time on collections.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=64', '--initial-old-space-size=256'],
    // Node strips the types itself and keeps what it has compiled: a fresh clone loads faster than through Vite.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/prepare.ts',
    // Hundreds of writer threads that each strip the types of their files anew, in WebAssembly, crash V8 now and then.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    // Long enough for a machine that is busy with other things: only what never comes is to fail.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A condition is waited for as long as the test may take; the default of a second is a race on a busy machine.
    expect: { poll: { timeout: 100_000 } },
    tags: [
      {
        name: 'soak',
        description: 'Takes long to show more of what another test shows in short: npm run test:soak.',
      },
    ],
    projects: [
      {
        extends: true,
        test: {
          name: 'all',
          include: ['packages/*/src/**/*.test.ts', 'scripts/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/compat/**', 'test/backends/modal/**', 'test/installed/**', '**/node_modules/**'],
        },
      },
      {
        // The clients of others. They leave handlers and timers in their process, so no other file shares it.
        extends: true,
        test: {
          name: 'compat',
          include: ['test/compat/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...(compatIsInstalled ? [] : ['test/compat/javascript/**'])],
          isolate: true,
        },
      },
      {
        // Modal's SDK, and the fake of its service.
        extends: true,
        test: {
          name: 'modal',
          include: modalIsInstalled
            ? ['test/backends/modal/*.test.ts']
            : ['test/backends/modal/installed.test.ts'],
          isolate: true,
        },
      },
      {
        // What must hold whichever store the server has, once more: the same files, with a server on Postgres.
        extends: true,
        test: {
          name: 'postgres',
          include: ['test/conformance/conformance.test.ts'],
          globalSetup: ['test/support/postgres-of-project.ts'],
        },
      },
      {
        // What npm packs, installed into an empty project. All of these count as soak tests.
        extends: true,
        test: { name: 'installed', include: ['test/installed/*.test.ts'] },
      },
      {
        // The server must survive being killed on Postgres, too. All of these count as soak tests.
        extends: true,
        test: {
          name: 'postgres-chaos',
          include: ['test/chaos/!(many-servers).test.ts'],
          globalSetup: ['test/support/postgres-of-project.ts'],
        },
      },
    ],
  },
});
