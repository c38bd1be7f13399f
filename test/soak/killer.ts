/** Kills one target after the other, as the plan says, until the round is over. What it has done to whom, and when, is evidence. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { callDocker } from '../../packages/sandbox/src/docker/testing/docker-daemon.ts';
import { listContainers } from '../../packages/sandbox/src/docker/testing/docker-fixture.ts';
import type { Disruption } from './evidence.ts';
import type { Installation, Victim } from './installation.ts';
import type { Plan, PlannedKill } from './plan.ts';

export interface KillerOptions {
  installation: Installation;
  plan: Plan;
  /** The number of the next kill, which whoever takes it has to carry out; undefined when there are no more. */
  take(): number | undefined;
  onDisruption(disruption: Disruption): void;
}

/** Resolves when there are no more kills, and every target is up again and lives on. */
export async function killInTurn(options: KillerOptions): Promise<void> {
  const { installation } = options;
  const servers = installation.victims.map((_, index) => killServer(options, index));
  await Promise.all(installation.postgres === undefined ? servers : [...servers, killDatabase(options)]);
}

async function killServer({ installation, plan, take, onDisruption }: KillerOptions, index: number) {
  const victim = installation.victims[index]!;
  let number = take();
  for (let turn = 0; number !== undefined; turn += 1) {
    const kill = plan.kill(index, turn);
    const since = now();
    const died = await diesWithin(victim, kill.afterMs);
    const from = died ? since : now();
    const how = died ? `failpoint ${kill.failpoint?.name}` : await harm(victim, kill, installation);
    const following = take();
    if (!victim.up) await victim.start(following === undefined ? {} : armedFor(plan.kill(index, turn + 1)));
    const target = how === 'sandbox' ? `a sandbox of server ${index + 1}` : `server ${index + 1}`;
    onDisruption({ number, how, target, from, to: now() });
    number = following;
  }
}

async function killDatabase({ installation, plan, take, onDisruption }: KillerOptions): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    const { how, afterMs, forMs } = plan.kill('database', turn);
    await delay(afterMs);
    const number = take();
    if (number === undefined) return;
    const from = now();
    if (how === 'kill') await installation.killDatabase(forMs);
    else await installation.postgres!.restart(() => delay(forMs));
    onDisruption({ number, how, target: 'the database', from, to: now() });
  }
}

/** What the server is started with so that it dies as planned. */
function armedFor({ failpoint }: PlannedKill): Record<string, string> {
  return failpoint === undefined ? {} : { TALARIA_FAILPOINTS: `${failpoint.name}@${failpoint.passage}` };
}

/** Waits as long as the plan says, unless the server is dead before: it has come to its failpoint. */
async function diesWithin(victim: Victim, ms: number): Promise<boolean> {
  for (const until = Date.now() + ms; victim.up && Date.now() < until; ) await delay(20);
  return !victim.up;
}

/** What was done in fact: one that is to die at a failpoint and has not come to it is killed. */
async function harm(
  victim: Victim,
  { how, forMs }: PlannedKill,
  installation: Installation,
): Promise<string> {
  if (how === 'pause') {
    process.kill(victim.process.pid, 'SIGSTOP');
    await delay(forMs);
    process.kill(victim.process.pid, 'SIGCONT');
    return how;
  }
  if (how === 'sandbox' && (await killSandbox(victim, installation))) return how;
  if (how === 'stop') {
    const stopped = await Promise.race([victim.kill('SIGTERM').then(() => true), delay(forMs, false)]);
    if (stopped) return how;
    await victim.kill();
    return 'stop, then kill';
  }
  await victim.kill();
  await delay(forMs);
  return 'kill';
}

/** One of the processes or containers that commands run in; false if there is none. */
async function killSandbox(victim: Victim, { docker }: Installation): Promise<boolean> {
  if (docker !== undefined) {
    const [container] = await listContainers(docker);
    if (container === undefined) return false;
    const { status } = await callDocker(docker.host, 'POST', `/containers/${container.Id}/kill`);
    return status === 204;
  }
  const inside = descendantsOf(victim.process.pid);
  const pid = inside[Math.floor(inside.length / 2)];
  if (pid === undefined) return false;
  process.kill(pid, 'SIGKILL');
  return true;
}

function descendantsOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? [];
    return children.map(Number).flatMap((child) => [child, ...descendantsOf(child)]);
  } catch {
    return [];
  }
}

function now(): number {
  return Date.now() / 1_000;
}
