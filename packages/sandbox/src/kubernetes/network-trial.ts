/**
 * Whether a cluster enforces the policy that denies sandboxes a network. Kubernetes accepts policies also where no network plug-in
 * cares for them, so two pods under the policy try it: one listens, the other connects to it. A plug-in may need a moment for a new
 * pod, so the last of several attempts counts.
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
const REACHED = 42;

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
  api: KubernetesApi,
  settings: PodSettings,
  interrupted: AbortSignal,
): Promise<boolean> {
  const signal = AbortSignal.any([AbortSignal.timeout(WITHIN_MS), interrupted]);
  const [listener, caller] = ['listener', 'caller'].map((role) => `talaria-trial-${role}-${randomUUID()}`);
  const create = (name: string, script: string, ...args: string[]) =>
    api.createPod(trialPod(settings, name, ['/talaria/node', '-e', script, ...args]));
  const names = [listener, caller] as [string, string];
  try {
    await create(names[0], LISTEN);
    const address = await api.untilPod(names[0], addressOf, signal);
    await create(names[1], CONNECT, address);
    const code = await api.untilPod(names[1], exitCodeOf, signal);
    if (code === 0 || code === REACHED) return code === 0;
    throw new SandboxError('container_failed', `a pod that tries the network ended with ${code}`);
  } finally {
    for (const name of names) await api.deletePod(name, { graceS: 0 }).catch(() => {});
  }
}

function trialPod(settings: PodSettings, name: string, command: readonly string[]): object {
  return plainPodSpec(settings, {
    ...{ name, command, labels: {}, allowNetwork: false, limits: {} },
    // Nobody looks for these pods after a crash.
    lifetimeS: WITHIN_MS / 1_000,
  });
}

function addressOf(pod: Pod | undefined): string | undefined {
  return isRunning(pod) && pod?.status?.podIP;
}
