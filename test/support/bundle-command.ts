/**
 * The program that makes the bundle of bundled-command.ts: `node bundle-command.ts ROOT DIRECTORY PROGRAM
 * COMPILE_CACHE`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type Plugin, rolldown } from 'rolldown';
import { startPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from './api.ts';
import { NODE_FLAGS } from './bundled-command.ts';
import { startModelServer } from './model-server.ts';
import { script } from './model-server-script.ts';

const A_COMMAND = script([
  { tools: [{ name: 'terminal', arguments: { command: 'echo hello' } }] },
  { text: 'hello' },
]);

const WITHOUT_EARLY_FLUSH = `data:text/javascript,
  import module from 'node:module';
  module.flushCompileCache = () => {};
  module.syncBuiltinESMExports();`;

const [root, directory, path, compileCache] = process.argv.slice(2) as [string, string, string, string];
await bundle(root, directory);
// If the server does not start, the tests that start it say why.
await compile(path, compileCache).catch(() => {});

async function bundle(root: string, directory: string): Promise<void> {
  await using build = await rolldown({
    cwd: root,
    input: {
      talaria: 'packages/server/bin/talaria.js',
      'server-host-program': 'test/support/server-host-program.ts',
      // Started by their files' names, beside the files that start them.
      'writer-thread': 'packages/server/src/journal/sqlite/writer-thread.ts',
      'line-thread-program': 'packages/server/src/diff/line-thread-program.ts',
      'schema-thread-program': 'packages/server/src/agent/schema-thread-program.ts',
      'file-thread-program': 'packages/sandbox/src/workspace/thread/file-thread-program.ts',
      'screen-thread-program': 'packages/sandbox/src/local/terminal/screen-thread-program.ts',
    },
    platform: 'node',
    // Reads its own source, to take it into containers; `pg` asks for the other and does without it.
    external: ['@talaria/sandbox/docker', 'pg-native'],
    plugins: [httpWithoutUndici(), lateBuiltins(), asciiOnly()],
    logLevel: 'warn',
  });
  // Else Node reads every file twice, to find out that it is a module.
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  await build.write({
    dir: directory,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // Half as much for every start to read. Names stay as they are, for stack traces.
    minify: { compress: false, mangle: false, codegen: true },
  });
}

/**
 * An import of `node:http` reads all its exports. Some of them are undici's, and Node loads all of it for them: a sixth of
 * the processor time of a start. Here the module has only the exports that are there without being computed.
 */
function httpWithoutUndici(): Plugin {
  const id = '\0http';
  const exports = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule('node:http')));
  const names = exports.filter(([, { get }]) => get === undefined).map(([name]) => name);
  return {
    name: 'http without undici',
    resolveId: (name, _, { kind }) =>
      /^(node:)?http$/.test(name) && kind === 'import-statement' ? id : undefined,
    load: (module) =>
      module === id
        ? `export const { ${names.join(', ')} } = process.getBuiltinModule('node:http');`
        : undefined,
  };
}

/**
 * Fastify loads Node's modules for TLS and HTTP/2 whether it is asked for them or not: a tenth of the processor time of
 * a start. Here they are loaded by the first use of one of their functions.
 */
function lateBuiltins(): Plugin {
  const late = /^(?:node:)?(https|http2|tls)$/;
  return {
    name: 'late builtins',
    resolveId: (name, _, { kind }) => {
      const module = late.exec(name)?.[1];
      return module && `\0late-${module}${kind === 'import-statement' ? '' : '.cjs'}`;
    },
    load: (id) => {
      const [, name, required] = /^\0late-(\w+)(\.cjs)?$/.exec(id) ?? [];
      if (name === undefined) return undefined;
      const module = `process.getBuiltinModule('node:${name}')`;
      if (required) return `module.exports = new Proxy({}, { get: (_, name) => ${module}[name] });`;
      const isFunction = ([key, value]: [string, unknown]) =>
        typeof value === 'function' && /^[a-z]/.test(key);
      const functions = Object.entries(process.getBuiltinModule(`node:${name}`) as object).filter(isFunction);
      return functions
        .map(([key]) => `export const ${key} = (...args) => ${module}.${key}(...args);`)
        .join('\n');
    },
  };
}

/**
 * One character beyond ASCII in a file makes Node decode it as UTF-8 and V8 keep two bytes for each of its characters.
 * Here such characters are escapes, which mean the same in strings, templates and expressions.
 */
function asciiOnly(): Plugin {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return {
    name: 'ASCII only',
    generateBundle: (_, bundle) => {
      for (const file of Object.values(bundle)) {
        if (file.type === 'chunk') file.code = file.code.replace(/[^\0-\x7f]/g, escaped);
      }
    },
  };
}

/**
 * Starts the server on each store, lets it work on a run and ends it normally: so it leaves its compiled code for the
 * servers of tests, which are killed and leave none. It leaves it only at its end, because Node writes the code of a
 * module once: at the start, the functions that work on a run are not compiled yet.
 */
async function compile(path: string, compileCache: string): Promise<void> {
  const postgres = await startPostgres();
  await using model = await startModelServer();
  try {
    const env = { OPENAI_BASE_URL: model.url, TALARIA_MODEL: 'scripted' };
    await work(path, compileCache, env);
    await work(path, compileCache, { ...env, TALARIA_DATABASE_URL: await postgres.createEmptyDatabase() });
  } finally {
    await postgres.stop();
  }
}

async function work(path: string, compileCache: string, settings: Record<string, string>): Promise<void> {
  using home = mkdtempDisposableSync(join(tmpdir(), 'talaria-test-'));
  const server = spawn(process.execPath, ['--import', WITHOUT_EARLY_FLUSH, ...NODE_FLAGS, path, 'serve'], {
    env: {
      PATH: process.env.PATH,
      HOME: home.path,
      NODE_COMPILE_CACHE: compileCache,
      API_SERVER_PORT: '0',
      TALARIA_DATA_DIR: home.path,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(server, 'exit');
  const api = new Api(await listens(server.stdout));
  await api.stream(await api.create(A_COMMAND));
  server.kill('SIGTERM');
  await ended;
}

async function listens(output: Readable): Promise<string> {
  let text = '';
  for await (const piece of output.setEncoding('utf8')) {
    text += piece as string;
    const url = /listens on (http:\/\/\S+)/.exec(text)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('The server did not start');
}
