/** A backend on the fake of Modal, with the unmodified SDK between them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionResult, Slot } from '../../../packages/sandbox/src/backend.ts';
import { ModalBackend, type ModalBackendOptions } from '../../../packages/sandbox/src/modal/modal-backend.ts';
import type { ModalSdk } from '../../../packages/sandbox/src/modal/modal-sdk.ts';
import type { FakeModal } from './fake/fake-modal.ts';
import { whyNoNamespaces } from './fake/namespaces.ts';

type Environment = Readonly<Record<string, string>>;

/** Why there can be no fake here; undefined where there can. */
export const NO_FAKE = whyNoNamespaces();

export interface ModalTest extends AsyncDisposable {
  backend: ModalBackend;
  workspacesDir: string;
  troubles: string[];
  bash(slot: Slot, command: string, more?: object): Promise<ExecutionResult>;
}

/** One sandbox is enough for most. */
export async function startTest(
  fake: FakeModal,
  options: Partial<ModalBackendOptions> = {},
): Promise<ModalTest> {
  await using opened = new AsyncDisposableStack();
  const workspacesDir = options.workspacesDir ?? (await mkdtemp(join(tmpdir(), 'talaria-modal-test-')));
  opened.defer(() => rm(workspacesDir, { recursive: true, force: true }));
  const troubles: string[] = [];
  const sdk = await sdkFor(fake.environment);
  const onTrouble = (message: string) => void troubles.push(message);
  const backend = new ModalBackend({ sdk, workspacesDir, onTrouble, warmSlots: 0, ...options });
  opened.defer(() => backend.stop({ purge: true }));
  await backend.start();
  const resources = opened.move();
  return {
    ...{ backend, workspacesDir, troubles },
    async bash(slot, command, more = {}) {
      const [result] = await backend.executeBatch([[slot, 'bash', { command, ...more }]]);
      return result as ExecutionResult;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The SDK reads its environment when it is loaded and when a client is made, and takes no address but from there. */
export async function sdkFor(environment: Environment): Promise<ModalSdk> {
  const sdk = await inEnvironment(environment, () => import('modal'));
  const ModalClient = new Proxy(sdk.ModalClient, {
    construct: (target, args) => inEnvironment(environment, () => Reflect.construct(target, args)),
  });
  return { ModalClient, NotFoundError: sdk.NotFoundError } satisfies ModalSdk;
}

function inEnvironment<T>(environment: Environment, work: () => T): T {
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    return work();
  } finally {
    process.env = before;
  }
}
