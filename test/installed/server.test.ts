/**
 * What a user gets who installs the server: the command, on the Node it brings along, and a library to start it with.
 */
import { mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Talaria } from '@talaria/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerProcess } from '../support/server-process.ts';
import { readExamples } from './doc-examples.ts';
import { EmptyProject, outsideNode } from './empty-project.ts';
import { expectPackage } from './expect-package.ts';

/** It depends on a Node and a hundred libraries. */
const INSTALL_LIMIT_MS = 600_000;

const EMBEDDING = `
import { homedir } from 'node:os';
import { type Config, ConfigError, loadConfig, type ServerHandle, startServer } from '@talaria/server';

const argv = ['--port', '0', '--data-dir', 'embedded', '--log-level', 'error'];
const { config }: { config: Config } = loadConfig({ argv, env: {}, homeDir: homedir() });
const port: number = config.port;
// @ts-expect-error: what was loaded stays as it is
config.port = 1;
const server: ServerHandle = await startServer({ ...config, port });
const health = await fetch(new URL('/health', server.url));
console.log(health.status, server.describe().work?.model);
await server.close();
try {
  loadConfig({ argv: ['--port', 'x'], env: {}, homeDir: homedir() });
} catch (error) {
  if (error instanceof ConfigError) console.log(error.problems.length);
}
`;

const machine = outsideNode();

let project: EmptyProject;
let searchPath: string;
beforeAll(async () => {
  const wanted = ['@talaria/server', '@types/node'];
  project = await EmptyProject.install(['protocol', 'client', 'sandbox', 'dashboard', 'server'], wanted);
  // As npx and the scripts of a project have it.
  searchPath = [join(project.directory, 'node_modules', '.bin'), machine.searchPath].join(delimiter);
}, INSTALL_LIMIT_MS);
afterAll(() => project?.[Symbol.dispose]());

const readme = () => readExamples('packages/server/README.md')[0]!.code;

test('it holds built files and the command', () => {
  expectPackage(project, '@talaria/server', ['bin/talaria.js']);
  expect(project.manifestOf('@talaria/server')).toMatchObject({
    bin: { talaria: 'bin/talaria.js' },
    engines: { node: '>=24' },
  });
});

test.each([
  ['bundler', 'esnext'],
  ['nodenext', 'nodenext'],
])('it type-checks under strict with moduleResolution %s', async (moduleResolution, module) => {
  project.write('embedding.ts', EMBEDDING);
  project.write('readme.ts', readme());
  const options = { target: 'es2024', lib: ['es2024', 'esnext.disposable'], types: ['node'], noEmit: true };
  const strict = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  await project.compile(['embedding.ts', 'readme.ts'], { module, moduleResolution, ...options, ...strict });
});

test('as a library it starts a server and stops it', async () => {
  const program = project.write('embedding.ts', EMBEDDING);
  expect(await project.run(process.execPath, [program])).toBe('200 demo/commands\n1\n');
});

test('the example in its README runs', async () => {
  const env = { TALARIA_DATA_DIR: 'readme', TALARIA_LOG_LEVEL: 'error' };
  expect(await project.run(process.execPath, [project.write('readme.ts', readme())], env)).toMatch(
    /^http:\S+\n$/,
  );
});

describe(`npx talaria, where Node is ${machine.version || 'missing'}`, () => {
  const home = () => join(project.directory, 'home');
  const npx = (...words: string[]) => {
    mkdirSync(home(), { recursive: true });
    const env = { HOME: home(), PATH: machine.searchPath, npm_config_update_notifier: 'false' };
    return project.run('npx', ['--offline', 'talaria', ...words], env);
  };

  test('prints its version and its help', async () => {
    expect(await npx('--version')).toBe(`${project.manifestOf('@talaria/server').version}\n`);
    expect(await npx('--help')).toContain('talaria <command>');
    expect(await npx('help', 'serve')).toContain('--port');
  });

  test('doctor finds Node 24 or newer, and a sandbox to try', async () => {
    const { ok, checks } = JSON.parse(await npx('doctor', '--json', '--port', '0'));
    const node = checks.find((check: { name: string }) => check.name === 'node');
    expect({ ok, node }).toMatchObject({
      ok: true,
      node: { status: 'ok', detail: expect.stringMatching(/^2[4-9]/) },
    });
    expect(checks.map((check: { name: string }) => check.name)).toContain('sandbox');
  });

  test('serve works on runs, and continues them after kill -9', async () => {
    await using server = await ServerProcess.start({
      program: [join(project.directory, 'node_modules', '.bin', 'talaria')],
      env: { PATH: searchPath },
    });
    const first = new Talaria({ baseUrl: server.url });
    const page = await fetch(`${server.url}/ui/`, { headers: { accept: 'text/html' } });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('./assets/index-')]);
    const done = await first.runs.run({ input: 'Run `echo from the sandbox`' });
    expect(done).toMatchObject({ status: 'completed', output: expect.stringContaining('from the sandbox') });

    const { run_id } = await first.runs.create({ input: 'Run `sleep 600`' });
    for await (const { event } of first.runs.streamEvents(run_id)) if (event === 'tool.started') break;
    await server.kill('SIGKILL');
    await server.start();

    const client = new Talaria({ baseUrl: server.url });
    expect(await client.runs.get(done.run_id)).toMatchObject({ status: 'completed' });
    const seen: string[] = [];
    for await (const { event } of client.runs.streamEvents(run_id)) seen.push(event);
    expect(seen).toContain('tool.completed');
    expect(seen.at(-1)).toBe('run.completed');
    expect(await npx('show', '--server', server.url, run_id)).toMatch(/status +completed/);
  });
});
