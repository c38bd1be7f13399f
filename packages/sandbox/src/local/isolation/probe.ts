/**
 * Finds which isolation works here, and with how much hardening (hardening.ts). Installed does not mean working: a
 * container may forbid user namespaces, a distribution may allow them to some programs only. So each candidate runs a
 * command that looks for what it must not find.
 */
import type { HardeningStatus, Isolation } from '../../backend.ts';
import { SandboxError } from '../../errors.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import { Keepers } from '../keeper/keepers.ts';
import { NO_LIMITS } from '../limits/launch-limits.ts';
import type { CommandIo } from '../process/program.ts';
import type { Starter } from '../process/run-command.ts';
import { createBubblewrap, createOlderBubblewrap } from './bubblewrap.ts';
import { type HardeningChoice, hardeningChoices } from './hardening.ts';
import type { Hardening, IsolationDriver } from './isolation-driver.ts';
import { createNoIsolation, sweepAbandoned } from './no-isolation.ts';
import { quote } from './shell.ts';
import type { WantedUsers } from './slot-users.ts';
import { buildSystemView, type SystemView } from './system-view.ts';
import { NO_TRIAL, type Observed, observeTrial, runTrial, type Trial, type TrialSite } from './trial.ts';
import { createUnshare } from './unshare.ts';

export interface ProbeOptions extends TrialSite {
  wanted: Isolation['kind'] | 'auto';
  allowNetwork: boolean;
  hiddenPaths: readonly string[];
  users: WantedUsers;
  /** What the first command does in addition. */
  trial: Trial;
}

export interface ChosenIsolation {
  driver: IsolationDriver;
  observed: Observed;
  hardening: readonly HardeningStatus[];
  /** The keepers that start its commands; undefined if the server starts them. */
  keepers: Keepers | undefined;
}

/** Resolves to undefined if it would be the same as the candidate before. */
type Candidate = (
  view: SystemView,
  allowNetwork: boolean,
  hardening: Hardening,
) => Promise<IsolationDriver | undefined>;

const CANDIDATES: readonly [Isolation['kind'], readonly Candidate[]][] = [
  ['bubblewrap', [createBubblewrap, createOlderBubblewrap]],
  ['unshare', [createUnshare]],
];

/** The wanted isolation, or the first that works. Rejects with the reason if the wanted one does not work. */
export async function chooseIsolation(options: ProbeOptions): Promise<ChosenIsolation> {
  const { wanted, workspaces, allowNetwork } = options;
  sweepAbandoned(workspaces.baseDir);
  if (wanted === 'none') return withoutIsolation('as configured', options);
  const view = buildSystemView({
    rootDir: workspaces.rootDir,
    allowNetwork,
    hiddenPaths: [workspaces.baseDir, ...options.hiddenPaths],
  });
  const reasons: string[] = [];
  for (const [kind, candidates] of CANDIDATES) {
    if (wanted !== 'auto' && wanted !== kind) continue;
    let why = '';
    for (const create of candidates) {
      const chosen = await firstThatHolds(create, view, options);
      if (typeof chosen === 'object') return chosen;
      why = chosen ?? why;
    }
    reasons.push(`${kind}: ${why}`);
  }
  const reason = reasons.join('; ');
  if (wanted !== 'auto') throw new SandboxError('isolation_unavailable', `No isolation by ${reason}.`);
  return withoutIsolation(reason, options);
}

/** With as much hardening as works, or the reason why it works with none; undefined if there is no such candidate. */
async function firstThatHolds(
  create: Candidate,
  view: SystemView,
  options: ProbeOptions,
): Promise<ChosenIsolation | string | undefined> {
  let reason = '';
  for (const choice of hardeningChoices(options.users, view.rootDir)) {
    try {
      const driver = await create(view, options.allowNetwork, choice.hardening);
      if (driver === undefined) return undefined;
      // At the same time, because each waits for the other's processes to start.
      const keepers = tryKeepers(driver, choice, options);
      const observed = await tryOut(driver, choice, options).catch(async (error: unknown) => {
        await (await keepers)?.close();
        throw error;
      });
      return { driver, observed, hardening: choice.describe(reason), keepers: await keepers };
    } catch (error) {
      reason = (error as Error).message;
    }
  }
  return reason;
}

async function withoutIsolation(reason: string, options: ProbeOptions): Promise<ChosenIsolation> {
  const driver = await createNoIsolation(options.workspaces.baseDir, reason);
  const observed = await observeTrial(driver, options.trial, options);
  return { driver, observed, hardening: [], keepers: undefined };
}

/**
 * Rejects if the isolation does not hold. Returns what the trial printed, or the reason if a command runs only without the
 * trial.
 */
async function tryOut(
  driver: IsolationDriver,
  choice: HardeningChoice,
  options: ProbeOptions,
): Promise<Observed> {
  const { trial } = options;
  try {
    return await runChecked(driver, trial, choice, options);
  } catch (error) {
    if (trial === NO_TRIAL) throw error;
    await runChecked(driver, NO_TRIAL, choice, options);
    return error as Error;
  }
}

/** A command of a keeper must be isolated in the same way. If none works here, the server starts every command itself. */
async function tryKeepers(
  driver: IsolationDriver,
  choice: HardeningChoice,
  options: ProbeOptions,
): Promise<Keepers | undefined> {
  const { standing } = driver;
  if (!standing) return undefined;
  const keepers = new Keepers(standing, options.workspaces.baseDir, options.pipes);
  try {
    const keeper = await keepers.open();
    const { env } = standing;
    const start = (workspace: Workspace) => (io: CommandIo) =>
      keeper.start({ workspace, limits: NO_LIMITS, env }, io);
    await runChecked(driver, NO_TRIAL, choice, options, start).finally(() => keeper.close());
    options.pipes.maker = keepers.makePipes;
    return keepers;
  } catch {
    await keepers.close();
    return undefined;
  }
}

async function runChecked(
  driver: IsolationDriver,
  trial: Trial,
  { probe }: HardeningChoice,
  options: ProbeOptions,
  start?: (workspace: Workspace) => Starter,
): Promise<string> {
  const check = `${probeCommand(options.workspaces.baseDir, options.allowNetwork)}\n${probe}\necho isolated`;
  const output = await runTrial(driver, { ...trial, command: `${check}\n${trial.command}` }, options, start);
  const [before, after] = output.split(/^isolated$\n?/m);
  if (before !== '' || after === undefined) throw new Error(output.trim().replaceAll('\n', '; '));
  return after;
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
${allowNetwork ? '' : networkCheck}`;
}
