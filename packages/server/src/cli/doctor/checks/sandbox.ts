/**
 * The sandbox: starts it as the server would and runs a command in it, to show what isolates commands here, and which
 * limits are enforced.
 */
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LimitUnenforceableError, limitTitle, type ToolBackend } from '@talaria/sandbox';
import type { Config } from '../../../config/index.ts';
import { BACKENDS } from '../../../config/settings/backends.ts';
import { missingHardening } from '../../../start/checks/missing-hardening.ts';
import { configuredBackend } from '../../../start/configured-backend.ts';
import { unenforceable } from '../../../start/sandbox-limits.ts';
import type { Finding } from '../finding.ts';

const COMMAND_S = 20;

export async function checkSandbox(
  config: Config,
  { interrupted }: { interrupted: AbortSignal },
): Promise<Finding> {
  const directory = mkdtempSync(join(placeFor(config), 'talaria-doctor-'));
  // One container is enough to find out.
  const small = { ...config, slotsPerContainer: 1, minContainers: 1, maxContainers: 1, warmSlots: 0 };
  const backend = await configuredBackend(small, directory, () => {});
  const stop = (): void => void backend.stop();
  interrupted.addEventListener('abort', stop, { once: true });
  try {
    interrupted.throwIfAborted();
    await backend.start();
    const problem = await tryCommand(backend);
    return problem === undefined
      ? describe(backend, config)
      : { status: 'failed', detail: problem, fix: REPORT };
  } catch (error) {
    return explain(error, config);
  } finally {
    interrupted.removeEventListener('abort', stop);
    await backend.stop({ purge: true }).catch(() => {});
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Where the server would have its workspaces, if that exists: another disk, or a directory that no daemon sees, would
 * be no test.
 */
function placeFor({ dataDir }: Config): string {
  try {
    accessSync(dataDir, constants.W_OK | constants.X_OK);
    return dataDir;
  } catch {
    return tmpdir();
  }
}

const REPORT = 'Start the server with TALARIA_LOG_LEVEL=debug to see more';

async function tryCommand(backend: ToolBackend): Promise<string | undefined> {
  const slot = await backend.acquire();
  const command = 'echo works > made && cat made';
  const [result] = await backend.executeBatch([[slot, 'bash', { command }]], { timeoutS: COMMAND_S });
  return result?.output.trim() === 'works'
    ? undefined
    : `A command failed: ${result?.error || result?.output}`;
}

function describe(backend: ToolBackend, config: Config): Finding {
  const { allowNetwork, approvalsUnisolated } = config;
  const { isolation, limits } = backend.stats();
  const isolated = isolation.kind !== 'none';
  const name = isolation.description.replace(/\.$/, '');
  const facts = [
    `network: ${allowNetwork ? 'reachable, as configured' : isolated ? 'none' : 'reachable, nothing keeps commands from it'}`,
    ...(isolation.hardening ?? []).map(({ name, description }) => `${name}: ${description}`),
    ...limits.map(({ limit, description }) => `${limitTitle(limit)}: ${description}`),
  ];
  const loose = limits.filter(({ by }) => by === 'nothing');
  if (!isolated) {
    const asks = approvalsUnisolated === 'ask' ? 'every command asks first' : 'and none asks first';
    return {
      status: 'warning',
      detail: `${name}; commands run as this user, ${asks}`,
      facts,
      fix: 'Install bubblewrap, and allow user namespaces where they are forbidden (docs/operations.md)',
    };
  }
  const [unfiltered] = missingHardening(isolation.hardening ?? []);
  if (unfiltered !== undefined) {
    return { status: 'warning', detail: `${name}; ${unfiltered}`, facts, fix: UNFILTERED };
  }
  if (loose.length > 0) {
    const { page } = BACKENDS[config.backend];
    const names = loose.map(({ limit }) => limitTitle(limit)).join(', ');
    return {
      status: 'warning',
      detail: `${name}; no limit on ${names}`,
      facts,
      fix: page === undefined ? LIMITS : `${page} says what enforces each limit`,
    };
  }
  return { status: 'ok', detail: name, facts };
}

const ISOLATION = 'Install bubblewrap, or let it choose with TALARIA_SANDBOX_ISOLATION=auto';

const UNFILTERED =
  'Use an x86-64 or arm64 machine, and a data directory on a file system from which programs may be run';

const USERS =
  'Run the server as root or with subordinate ids (docs/operations.md), or set TALARIA_SANDBOX_USERS=auto';

const LIMITS =
  'Let the server make control groups: start it with systemd-run --user --scope -p Delegate=yes, or as a service with Delegate=yes';

function explain(error: unknown, { backend, sandboxUsers }: Config): Finding {
  if (error instanceof LimitUnenforceableError) {
    const { problems } = unenforceable(error.limits);
    return { status: 'failed', detail: problems.join('; '), fix: LIMITS };
  }
  if (backend === 'local' && typeof sandboxUsers === 'object') {
    return { status: 'failed', detail: (error as Error).message, fix: USERS };
  }
  const { page } = BACKENDS[backend];
  const fix = page === undefined ? ISOLATION : `See ${page}, or use TALARIA_BACKEND=local`;
  return { status: 'failed', detail: (error as Error).message, fix };
}
