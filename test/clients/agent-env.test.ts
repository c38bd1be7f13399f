/**
 * An environment of AgentEnv on slots: 64 trajectories through a tool executor and `SlotBackend`, with a server that is killed
 * meanwhile and a purge at the end. One executor is a stand-in of ours; the other is AgentEnv's own, unchanged, from the
 * checkout of hermes-agent that HERMES_AGENT_DIR names.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SlotList } from '@talaria/protocol';
import { describe, expect, test } from 'vitest';
import { type Environment, environment, isInstalled } from '../compat/python/environments.ts';
import { Api } from '../support/api.ts';
import { ServerProcess } from '../support/server-process.ts';

const KEY = 'sk-agent-env';
const program = fileURLToPath(new URL('agent-env/environment.py', import.meta.url));
const source = fileURLToPath(new URL('../../clients/python/src', import.meta.url));
const checkout = process.env.HERMES_AGENT_DIR;

/** The environment of the Python clients that has what the executor needs, and why it cannot run here. */
const EXECUTORS: [name: string, executor: string, env: Environment, missing: string | undefined][] = [
  ['a stand-in', 'stand-in', environment('talaria-client'), undefined],
  ["AgentEnv's own", checkout ?? '', environment('hermes-agent'), whyNoCheckout(checkout)],
];

function whyNoCheckout(directory: string | undefined): string | undefined {
  if (directory === undefined) return 'HERMES_AGENT_DIR names no checkout of hermes-agent';
  return existsSync(join(directory, 'atropos/tools/tool_executor.py'))
    ? undefined
    : `${directory} has no atropos/tools/tool_executor.py`;
}

for (const [name, executor, env, missing] of EXECUTORS) {
  const reason = missing ?? (isInstalled(env) ? '' : 'run "npm run compat:install"');
  const title = reason === '' ? name : `${name} (skipped: ${reason})`;
  describe.skipIf(reason !== '')(`the tool executor: ${title}`, () => {
    test('drives 64 trajectories, survives a killed server, and leaves nothing', {
      timeout: 240_000,
    }, async () => {
      await using server = await ServerProcess.start({
        env: { API_SERVER_KEY: KEY, TALARIA_SLOTS: 'true', TALARIA_MAX_SLOTS: '64' },
      });
      const child = spawn(env.python, [program, executor], {
        env: {
          PATH: process.env.PATH,
          HOME: server.dataDir,
          PYTHONDONTWRITEBYTECODE: '1',
          PYTHONPATH: source,
          TALARIA_BASE_URL: server.url,
          TALARIA_API_KEY: KEY,
        },
      });
      const said = sayings(child);
      expect(await said.next()).toBe('tools');
      expect(await said.next()).toMatch(/^trajectories \d+ calls a second$/);
      expect(await said.next()).toBe('kill');
      await server.kill();
      expect(await said.next()).toBe('cut off');
      await server.start({ API_SERVER_PORT: new URL(server.url).port });
      child.stdin?.write('started\n');
      expect(await said.next()).toBe('again');
      expect(await said.next()).toBe('purged');
      expect(await said.end()).toBe(0);

      const api = new Api(server.url, KEY);
      const { body } = await api.get<SlotList>('/v1/slots');
      expect(body).toMatchObject({ data: [], stats: { held: 0, waiting: 0, available: 64 } });
    });
  });
}

/** The lines that it prints; all that it printed to both if there is none left. */
function sayings(child: ChildProcess) {
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    errors += part;
  });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return {
    async next(): Promise<string> {
      const { done, value } = await lines.next();
      if (!done) return value;
      await ended;
      return errors;
    },
    async end(): Promise<number | string> {
      const [code] = await ended;
      return code === 0 ? 0 : errors;
    },
  };
}
