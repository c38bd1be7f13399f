import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    // One per core: by default a core is left to the runner, which hardly needs it, and on two that is half of them.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // A condition is waited for as long as the test may take; the default of a second is a race on a busy machine.
    expect: { poll: { timeout: 25_000 } },
  },
});
