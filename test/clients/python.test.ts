/**
 * The Python client against a real server: its own tests, its types, its installation, and the example. They run in the
 * environment that `npm run compat:install` creates, and are skipped by name without it.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment, isInstalled } from '../compat/python/environments.ts';
import { HostedServer } from '../support/hosted-server.ts';

const run = promisify(execFile);
const KEY = 'sk-python-client';
const root = fileURLToPath(new URL('../../', import.meta.url));
const project = join(root, 'clients/python');
const env = environment('talaria-client');
const skip = isInstalled(env) ? '' : ' (skipped: run "npm run compat:install"; it needs Python 3.11)';

describe.skipIf(skip !== '')(`the Python client${skip}`, () => {
  let server: HostedServer;
  const settings = {
    API_SERVER_KEY: KEY,
    TALARIA_SLOTS: 'true',
    TALARIA_MAX_SLOTS: '4',
    TALARIA_SLOT_WAIT_SECONDS: '600',
    TALARIA_TOOL_TIMEOUT_SECONDS: '60',
  };
  beforeAll(async () => {
    server = await HostedServer.start({ env: settings });
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  /** What it prints; rejects with that where it fails. */
  async function python(
    words: string[],
    options: { cwd: string; path?: string; url?: string },
  ): Promise<string> {
    const { stdout } = await run(env.python, words, {
      cwd: options.cwd,
      env: {
        PATH: process.env.PATH,
        HOME: server.dataDir,
        PYTHONDONTWRITEBYTECODE: '1',
        PYTHONPATH: options.path ?? '',
        TALARIA_BASE_URL: options.url ?? server.url,
        TALARIA_API_KEY: KEY,
      },
    }).catch((error: Error & { stdout?: string; stderr?: string }) => {
      throw new Error(`${error.stdout}\n${error.stderr}`);
    });
    return stdout;
  }

  test('passes its own tests', async () => {
    const printed = await python(['-m', 'pytest', '-q', '-p', 'no:cacheprovider'], { cwd: project });
    expect(printed).toMatch(/\d+ passed/);
    expect(printed).not.toMatch(/skipped|failed/);
  });

  test('passes mypy in its strict mode', async () => {
    const cache = join(root, 'node_modules/.cache/mypy');
    const printed = await python(['-m', 'mypy', `--cache-dir=${cache}`], { cwd: project });
    expect(printed).toContain('Success: no issues found');
  });

  test('runs 200 trajectories through 32 slots, as the example does by default', {
    tags: ['soak'],
    timeout: 600_000,
  }, async () => {
    await using wide = await HostedServer.start({ env: { ...settings, TALARIA_MAX_SLOTS: '32' } });
    const example = join(root, 'examples/rollouts.py');
    const options = { cwd: project, path: join(project, 'src'), url: wide.url };
    expect(await python([example], options)).toBe('200 trajectories, mean reward 0.50\n');
  });

  test('is installed by pip with its types, and runs the example', { tags: ['soak'] }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'talaria-python-'));
    try {
      // The environment has the build system and the dependencies: nothing is fetched.
      const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-build-isolation'];
      await python([...install, '--target', directory, project], { cwd: directory });
      const where = 'import talaria_client, pathlib; print(pathlib.Path(talaria_client.__file__).parent)';
      const installed = (await python(['-c', where], { cwd: directory, path: directory })).trim();
      expect(installed).toBe(join(directory, 'talaria_client'));
      const example = join(root, 'examples/rollouts.py');
      const printed = await python([example, '20', '4'], { cwd: directory, path: directory });
      expect(printed).toBe('20 trajectories, mean reward 0.50\n');
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
