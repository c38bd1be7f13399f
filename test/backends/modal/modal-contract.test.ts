/** The contract of backends on Modal: on the fake, or on the real service where the environment has a token for it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { describeBackendContract } from '../../../packages/sandbox/src/backend.contract.ts';
import { ModalBackend } from '../../../packages/sandbox/src/modal/modal-backend.ts';
import { FakeModal } from './fake/fake-modal.ts';
import { NO_FAKE, sdkFor } from './modal-fixture.ts';

/** What the way to a sandbox decides. The rest is shown by the other containers, which run the same program. */
const OWN_PARTS = [
  'results',
  'ending',
  'output',
  'files',
  'batches',
  'snapshots',
  'slots',
  'artifacts',
  'lifecycle',
] as const;

/** As under gVisor, where no command can have namespaces of its own. */
const PLAIN = process.env.TALARIA_FAKE_MODAL === 'plain';
const REAL = process.env.MODAL_TOKEN_ID !== undefined;
const skipped = REAL ? undefined : NO_FAKE;

describe.skipIf(skipped)(`Modal${skipped ? ` (skipped: ${skipped})` : ''}`, () => {
  describeBackendContract(
    REAL ? 'Modal' : 'Modal (the fake)',
    async () => {
      await using opened = new AsyncDisposableStack();
      const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-modal-test-'));
      opened.defer(() => rm(workspacesDir, { recursive: true, force: true }));
      const fake = REAL ? undefined : opened.use(await FakeModal.start());
      if (fake && PLAIN) fake.without = ['bwrap', 'unshare'];
      const sdk = await sdkFor(fake?.environment ?? {});
      const resources = opened.move();
      const size =
        REAL || PLAIN
          ? { slotsPerContainer: 1, maxContainers: 20 }
          : { slotsPerContainer: 30, maxContainers: 4 };
      return {
        create: () => new ModalBackend({ sdk, app: 'talaria-test', workspacesDir, ...size }),
        dispose: () => resources.disposeAsync(),
      };
    },
    { timedOutCommands: REAL ? 20 : 200, ownParts: REAL ? undefined : OWN_PARTS },
  );
});
