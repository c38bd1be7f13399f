/**
 * What must be gone when all runs are evicted and the servers have stopped in order: workspaces, containers, processes of tools. The
 * servers are killed once more while they evict.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunList, SessionList } from '@talaria/protocol';
import { listContainers } from '../../packages/sandbox/src/docker/testing/docker-fixture.ts';
import { Api } from '../support/api.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Evidence, markingCommand, type Violation } from './evidence.ts';
import type { Installation } from './installation.ts';

/** Evicts at once. */
const EVICTING = { TALARIA_RUN_RETENTION_SECONDS: '0.1', TALARIA_SLOT_FILES_SECONDS: '0.1' };
const EVICTED_LIMIT_MS = 120_000;
/** What the server keeps beside the workspaces. */
const OWN = '.sandbox';

export async function leftovers(installation: Installation, evidence: Evidence): Promise<Violation[]> {
  const { victims, dataDirs, apiKey } = installation;
  await deleteSessions(new Api(victims[0]!.process.url, apiKey));
  const violations: Violation[] = [];
  const left = (of: string, what: string) => violations.push({ rule: 'nothing is left over', of, what });
  await stopAll(installation, left);
  const moment = evidence.round % 2 === 0 ? 'eviction.after-workspace' : 'eviction.after-records';
  await Promise.all(victims.map((victim) => victim.start({ ...EVICTING, TALARIA_FAILPOINTS: moment })));
  await waitFor(
    'a server to die of an eviction',
    () => victims.some(({ up }) => !up),
    EVICTED_LIMIT_MS,
  ).catch(() => left('the servers', `no server came to ${moment}`));
  await Promise.all(victims.map((victim) => victim.kill()));
  await Promise.all(victims.map((victim) => victim.start(EVICTING)));

  const api = new Api(victims[0]!.process.url, apiKey);
  await waitFor(
    'all runs to be evicted',
    async () => (await keptRuns(api)).length === 0,
    EVICTED_LIMIT_MS,
  ).catch(async () => left('the runs', `never evicted: ${(await keptRuns(api)).slice(0, 5).join(', ')}`));
  const workspaces = () => dataDirs.flatMap(workspacesOf);
  await waitFor('the workspaces to be gone', () => workspaces().length === 0, EVICTED_LIMIT_MS).catch(() =>
    left('the workspaces', workspaces().slice(0, 5).join(', ')),
  );
  await stopAll(installation, left);
  for (const command of processesOf(evidence)) left('the processes', command);
  const containers = installation.docker === undefined ? [] : await listContainers(installation.docker);
  for (const { Name } of containers) left('the containers', Name);
  return violations;
}

async function stopAll({ victims }: Installation, left: (of: string, what: string) => void): Promise<void> {
  await Promise.all(
    victims.map(async (victim, index) => {
      const { code, signal } = await victim.kill('SIGTERM');
      if (code !== 0)
        left(`server ${index + 1}`, `it was stopped in order, and ended with ${code ?? signal}`);
    }),
  );
}

/** A session keeps its files for longer than its runs. */
async function deleteSessions(api: Api): Promise<void> {
  for (;;) {
    const { body } = await api.get<SessionList>('/api/sessions?limit=200');
    if (body.data.length === 0) return;
    for (const { session_id } of body.data) await api.request('DELETE', `/api/sessions/${session_id}`);
  }
}

async function keptRuns(api: Api): Promise<string[]> {
  const { body } = await api.get<RunList>('/v1/runs?view=head&limit=200');
  return body.data.filter(({ evicted }) => evicted !== true).map(({ run_id }) => run_id);
}

function workspacesOf(dataDir: string): string[] {
  const directory = join(dataDir, 'workspaces');
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.filter((name) => name !== OWN).map((name) => join(directory, name));
}

/** Of background calls: each sleeps for a time that nobody else sleeps for. */
function processesOf({ runs }: Evidence): string[] {
  const calls = runs.flatMap(({ calls }) => calls).filter(({ manner }) => manner === 'background');
  const durations = new Set(calls.map(({ mark, manner }) => markingCommand(mark, manner).split(' ').at(-1)));
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words[0]?.endsWith('sleep') && durations.has(words[1]) ? [words.join(' ')] : [];
      } catch {
        return [];
      }
    });
}
