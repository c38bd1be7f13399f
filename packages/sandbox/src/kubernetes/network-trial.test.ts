/** The results of the trial in clusters whose plug-ins enforce policies in no direction, in one or in both. */
import { expect, test } from 'vitest';
import type { Pod } from './kubernetes-types.ts';
import { networkIsDenied, REACHED, type TrialApi } from './network-trial.ts';
import { podSettings } from './testing/kubernetes-fixture.ts';

/** Answers as a cluster would in which every pod runs, and callers reach whom the plug-in lets them reach. */
class ClusterStandIn {
  readonly pods = new Map<string, { isDenied: boolean; address: string; reaches: string | undefined }>();
  readonly enforced: { in: boolean; out: boolean };

  constructor(enforced: { in: boolean; out: boolean }) {
    this.enforced = enforced;
  }

  async createPod(spec: object): Promise<void> {
    const { metadata, spec: inner } = spec as Pod & { spec: { containers: { command: string[] }[] } };
    const [, , , address] = inner.containers[0]!.command;
    this.pods.set(metadata.name, {
      isDenied: metadata.labels?.['talaria.network'] === 'none',
      address: `address of ${metadata.name}`,
      reaches: address,
    });
  }

  async untilPod<T>(name: string, look: (pod: Pod | undefined) => T | undefined): Promise<T> {
    const { address, reaches, isDenied } = this.pods.get(name)!;
    const listener = [...this.pods.values()].find((pod) => pod.address === reaches);
    const stopped = (this.enforced.out && isDenied) || (this.enforced.in && listener?.isDenied);
    const state = listener ? { terminated: { exitCode: stopped ? 0 : REACHED } } : { running: {} };
    const pod = {
      metadata: { name },
      status: { phase: 'Running', podIP: address, containerStatuses: [{ state }] },
    } as unknown as Pod;
    return look(pod)!;
  }

  async deletePod(name: string): Promise<void> {
    this.pods.delete(name);
  }
}

test.each([
  ['both directions', { in: true, out: true }, true],
  ['only what comes in', { in: true, out: false }, false],
  ['only what goes out', { in: false, out: true }, false],
  ['nothing', { in: false, out: false }, false],
])('a plug-in that denies %s', async (_, enforced, isDenied) => {
  const cluster = new ClusterStandIn(enforced);
  const signal = new AbortController().signal;
  expect(await networkIsDenied(cluster as unknown as TrialApi, podSettings(), signal)).toBe(isDenied);
  expect(cluster.pods.size).toBe(0);
});
