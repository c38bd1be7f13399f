/** A real cluster of one node, and real pods. */
import { afterAll, beforeAll, describe } from 'vitest';
import { describeBackendContract } from '../backend.contract.ts';
import { describeFailures } from './contract/failures.contract.ts';
import { describeNetwork } from './contract/network.contract.ts';
import { describeOwnership } from './contract/ownership.contract.ts';
import { describePods } from './contract/pods.contract.ts';
import { describeRights } from './contract/rights.contract.ts';
import { KubernetesBackend } from './kubernetes-backend.ts';
import { Cluster } from './testing/cluster.ts';
import { whyNoCluster } from './testing/cluster-programs.ts';
import { optionsFor } from './testing/kubernetes-fixture.ts';

const reason = await whyNoCluster();
const title = reason === undefined ? 'kubernetes' : `kubernetes (missing: ${reason})`;

/**
 * The parts that depend on a pod of its own for each slot, and on the way to it. The program in the pod does the rest, which
 * other backends show. Each test waits for a new pod, and some for a dozen, so the whole contract takes too long for every run.
 */
const PARTS_OF_PODS = ['environment', 'ending', 'artifacts', 'lifecycle'] as const;

/** As many pods at a time as two processors start in a minute. */
const SLOTS = 12;

describe.skipIf(reason !== undefined)(title, { tags: ['soak'] }, () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  describePods(() => cluster);
  describeRights(() => cluster);
  describeNetwork(() => cluster);
  describeOwnership(() => cluster);
  describeBackendContract(
    'Kubernetes',
    async () => {
      const pool = { maxContainers: SLOTS + 3, warmSlots: 2, acquireTimeoutS: 300 };
      const options = await optionsFor(cluster, pool);
      return { create: () => new KubernetesBackend(options), dispose: async () => {} };
    },
    { timedOutCommands: 50, slots: SLOTS, ownParts: PARTS_OF_PODS },
  );
  describeFailures(() => cluster);
});
