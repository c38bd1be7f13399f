/**
 * The contract suites on one isolation of the local backend. Each has its own test file, so that they run side by side.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { CONTRACT_LIMITS, describeBackendContract, describeLimitsContract } from '../backend.contract.ts';
import type { Isolation } from '../backend.ts';
import type { SandboxLimits } from '../limits.ts';
import type { ContractPart } from '../testing/contract-tools.ts';
import { DISK } from '../testing/disk.ts';
import { LocalBackend } from './local-backend.ts';
import { bestIsolation, tagsOf, whyUnavailable } from './testing/why-unavailable.ts';

const GB = 1024 ** 3;
const GENEROUS_LIMITS = {
  memoryBytes: 4 * GB,
  processes: 512,
  cpus: 64,
  fileSizeBytes: 32 * GB,
  workspaceBytes: 32 * GB,
};

/** The parts that depend on the isolation. The others are the same code under every one. */
const PARTS_OF_ISOLATION: readonly ContractPart[] = [
  'results',
  'demands',
  'environment',
  'ending',
  'output',
  'terminal',
  'timeouts',
  'neighbours',
  'background processes',
  'lifecycle',
];

/** The parts that `npm test` runs, too. local-backend.test.ts shows how commands end without isolation. */
const TEST_PARTS: readonly ContractPart[] = ['demands', 'environment', 'terminal'];

export async function describeLocalContract(
  isolation: Isolation['kind'],
  { timedOutCommands }: { timedOutCommands: number },
): Promise<void> {
  const reason = await whyUnavailable(isolation);
  const title = reason === undefined ? isolation : `${isolation} (missing: ${reason})`;
  // Like a server: with limits, if this machine can enforce them.
  const setUp = async (preferredLimits: SandboxLimits, base = tmpdir()) => {
    const workspacesDir = await mkdtemp(join(base, 'talaria-sandbox-test-'));
    return {
      create: () => new LocalBackend({ workspacesDir, isolation, preferredLimits }),
      dispose: () => rm(workspacesDir, { recursive: true, force: true }),
    };
  };
  const best = await bestIsolation();
  const ownParts = isolation === best ? undefined : PARTS_OF_ISOLATION;
  const testParts = isolation === best ? undefined : TEST_PARTS;
  describe.skipIf(reason !== undefined)(title, { tags: await tagsOf(isolation) }, () => {
    describeBackendContract(isolation, () => setUp(GENEROUS_LIMITS), {
      timedOutCommands,
      largeArtifacts: isolation === best,
      ownParts,
      testParts,
    });
    describe('limits', { tags: isolation === best ? [] : ['soak'] }, () => {
      describeLimitsContract(isolation, () => setUp(CONTRACT_LIMITS, DISK));
    });
  });
}
