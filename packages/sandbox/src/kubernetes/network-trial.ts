/**
 * Whether a cluster enforces the policy that denies sandboxes a network. Kubernetes accepts policies even if no network plug-in
 * enforces them, so pods try it: a pod under the policy connects to one that may have a network, and the other way round. Between
 * two pods under the policy a plug-in that knows only one direction would deny as much as one that knows both. A plug-in may need a
 * moment for a new pod, so the last of several attempts counts.
 */
import { randomUUID } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import type { KubernetesApi } from './kubernetes-api.ts';
import type { Pod } from './kubernetes-types.ts';
import { type PodSettings, plainPodSpec } from './pod-spec.ts';
import { exitCodeOf, isRunning } from './pod-state.ts';

/** A node may have to pull the image first. */
const WITHIN_MS = 3 * 60_000;
const ATTEMPTS_MS = 5_000;
const PORT = 8_642;
/** The exit code of a caller that reached its listener. */
export const REACHED = 42;

export type TrialApi = Pick<KubernetesApi, 'createPod' | 'untilPod' | 'deletePod'>;
type TrialPod = { name: string; allowNetwork: boolean };

const LISTEN = `require('node:net').createServer((socket) => socket.end()).listen(${PORT}, '::')`;
const CONNECT = `
const { connect } = require('node:net');
const end = Date.now() + ${ATTEMPTS_MS};
function attempt() {
  const socket = connect({ host: process.argv[1], port: ${PORT}, timeout: 1000 });
  const outcome = (reached) => {
    socket.removeAllListeners().on('error', () => {}).destroy();
    if (Date.now() < end) setTimeout(attempt, 200);
    else process.exit(reached ? ${REACHED} : 0);
  };
  socket.on('connect', () => outcome(true)).on('timeout', () => outcome(false)).on('error', () => outcome(false));
}
attempt();
`;

/** It leaves no pod, also if the signal ends it early. */
export async function networkIsDenied(
  api: TrialApi,
  settings: PodSettings,
  interrupted: AbortSignal,
): Promise<boolean> {
  const signal = AbortSignal.any([AbortSignal.timeout(WITHIN_MS), interrupted]);
  const tries = [isDenied(api, settings, 'out', signal), isDenied(api, settings, 'in', signal)];
  // Wait for both even if one fails: they delete their pods.
  await Promise.allSettled(tries);
  return (await Promise.all(tries)).every(Boolean);
}

/** Whether nothing comes out of a pod under the policy, or into it. */
async function isDenied(
  api: TrialApi,
  settings: PodSettings,
  direction: 'in' | 'out',
  signal: AbortSignal,
): Promise<boolean> {
  const listener = { name: `talaria-trial-listener-${randomUUID()}`, allowNetwork: direction === 'out' };
  const caller = { name: `talaria-trial-caller-${randomUUID()}`, allowNetwork: direction === 'in' };
  const create = (pod: TrialPod, script: string, ...args: string[]) =>
    api.createPod(trialPod(settings, pod, ['/talaria/node', '-e', script, ...args]));
  try {
    await create(listener, LISTEN);
    const address = await api.untilPod(listener.name, addressOf, signal);
    await create(caller, CONNECT, address);
    const code = await api.untilPod(caller.name, exitCodeOf, signal);
    if (code === 0 || code === REACHED) return code === 0;
    throw new SandboxError('container_failed', `a pod that tries the network ended with ${code}`);
  } finally {
    for (const { name } of [listener, caller]) await api.deletePod(name, { graceS: 0 }).catch(() => {});
  }
}

function trialPod(settings: PodSettings, pod: TrialPod, command: readonly string[]): object {
  return plainPodSpec(settings, {
    ...{ ...pod, command, labels: {}, limits: {} },
    // After a crash no server looks for these pods.
    lifetimeS: WITHIN_MS / 1_000,
  });
}

function addressOf(pod: Pod | undefined): string | undefined {
  return isRunning(pod) && pod?.status?.podIP;
}
