/**
 * Which isolation holds here. Installed is not working: a container may forbid user namespaces, a distribution may
 * allow them to some programs only. So each candidate runs a command that looks for what it must not find.
 */
import type { Isolation } from '../../backend.ts';
import { SandboxError } from '../../errors.ts';
import { OutputCapture } from '../process/output-capture.ts';
import type { PipeStock } from '../process/pipe-stock.ts';
import { runCommand } from '../process/run-command.ts';
import { anonymousWorkspaceName, type Workspaces } from '../workspaces.ts';
import { createBubblewrap } from './bubblewrap.ts';
import type { IsolationDriver } from './isolation-driver.ts';
import { createNoIsolation, sweepAbandoned } from './no-isolation.ts';
import { quote, renderScript } from './shell.ts';
import { buildSystemView, type SystemView } from './system-view.ts';
import { createUnshare } from './unshare.ts';

const PROBE_TIMEOUT_MS = 10_000;
const PROBE_OUTPUT_BYTES = 4_000;

export interface ProbeOptions {
  wanted: Isolation['kind'] | 'auto';
  allowNetwork: boolean;
  hiddenPaths: readonly string[];
  workspaces: Workspaces;
  pipes: PipeStock;
}

type Candidate = (view: SystemView, allowNetwork: boolean) => Promise<IsolationDriver>;

const CANDIDATES = [
  ['bubblewrap', createBubblewrap],
  ['unshare', createUnshare],
] as const satisfies [Isolation['kind'], Candidate][];

/** The wanted isolation, or the first that works. Asking for one that does not work is an error with its reason. */
export async function chooseIsolation(options: ProbeOptions): Promise<IsolationDriver> {
  const { wanted, workspaces, allowNetwork } = options;
  sweepAbandoned(workspaces.baseDir);
  if (wanted === 'none') return createNoIsolation(workspaces.baseDir, 'as configured');
  const view = await buildSystemView({
    rootDir: workspaces.rootDir,
    allowNetwork,
    hiddenPaths: [workspaces.baseDir, ...options.hiddenPaths],
  });
  const reasons: string[] = [];
  for (const [kind, create] of CANDIDATES) {
    if (wanted !== 'auto' && wanted !== kind) continue;
    try {
      const driver = await create(view, allowNetwork);
      await tryOut(driver, options);
      return driver;
    } catch (error) {
      reasons.push(`${kind}: ${(error as Error).message}`);
    }
  }
  const reason = reasons.join('; ');
  if (wanted !== 'auto') throw new SandboxError('isolation_unavailable', `No isolation by ${reason}.`);
  return createNoIsolation(workspaces.baseDir, reason);
}

async function tryOut(
  driver: IsolationDriver,
  { workspaces, pipes, allowNetwork }: ProbeOptions,
): Promise<void> {
  const workspace = await workspaces.create(anonymousWorkspaceName());
  const capture = new OutputCapture({ limitBytes: PROBE_OUTPUT_BYTES, spoolLimitBytes: 0 }, () => {
    throw new Error('nothing is kept of a probe');
  });
  try {
    await driver.prepare(workspace);
    const script = {
      command: probeCommand(workspaces.baseDir, allowNetwork),
      workdir: driver.workspaceDir(workspace),
      env: {},
    };
    const end = await runCommand(driver.launch(workspace, 'probe'), {
      script: renderScript(script),
      scriptDir: workspace.stateDir,
      pipes,
      capture,
      timeoutMs: PROBE_TIMEOUT_MS,
      signal: new AbortController().signal,
    });
    const output = (await capture.finish()).text.trim();
    if (end.cause === 'timeout') throw new Error('a first command did not end');
    if (output === 'isolated') return;
    const said = (end.message || output).replaceAll('\n', '; ');
    throw new Error(said || `a first command exited with code ${end.exitCode}`);
  } finally {
    await workspaces.remove(workspace.name);
  }
}

function probeCommand(baseDir: string, allowNetwork: boolean): string {
  const networkCheck = `while read -r name rest; do
  case $name in Inter-*|face|lo:*) ;; *) echo "the network $name is reachable"; exit 1 ;; esac
done < /proc/net/dev`;
  return `
: > probe || exit 1
: > /tmp/probe || exit 1
if { : > /usr/.talaria-probe; } 2>/dev/null; then
  rm -f /usr/.talaria-probe; echo "the system is writable"; exit 1
fi
if [ -w /proc/sys/kernel/core_pattern ]; then echo "the kernel's settings are writable"; exit 1; fi
if [ -e ${quote(`${baseDir}/.sandbox`)} ]; then echo "the host's files are visible"; exit 1; fi
${allowNetwork ? '' : networkCheck}
echo isolated`;
}
