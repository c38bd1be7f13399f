/** A backend without commands: a test decides when an acquire, a release and a call end. */
import { randomUUID } from 'node:crypto';
import type { AcquireOptions, ExecuteOptions, ExecutionRequest, ExecutionResult } from '@talaria/sandbox';
import { SandboxError, type Slot, type ToolBackend, type TrajectoryWorkspaces } from '@talaria/sandbox';

type Outcome = Partial<Pick<ExecutionResult, 'success' | 'output' | 'error'>> & {
  failure?: ExecutionResult['metadata']['failure'];
};

export interface PendingCall {
  tool: string;
  slot: Slot;
  end(outcome?: Outcome): void;
}

export class FakeBackend {
  readonly defaultTimeoutS = 180;
  /** By the name of the workspace. */
  readonly held = new Map<string, Slot>();
  /** The names of the workspaces that exist. */
  readonly kept = new Set<string>();
  readonly calls: PendingCall[] = [];
  /** Acquires wait for this. */
  gate: Promise<void> = Promise.resolve();
  broken = false;
  /** Why no slot can be closed. */
  unclosable: SandboxError | undefined;
  readonly reverted = new Set<string>();
  reason = 'The daemon does not answer.';
  starts = 0;

  /** The rest of a `ToolBackend`, which nothing here uses, is missing. */
  get asBackend(): ToolBackend {
    return this as unknown as ToolBackend;
  }

  async acquire(trajectoryId: string, { signal }: AcquireOptions = {}): Promise<Slot> {
    await Promise.race([this.gate, aborted(signal)]);
    signal?.throwIfAborted();
    if (this.broken) throw new SandboxError('backend_down', this.reason);
    this.starts += 1;
    const slot = {
      slotId: `slot_${randomUUID()}`,
      containerId: 'fake-1',
      workspaceDir: '/workspace',
      state: 'acquired' as const,
      trajectoryId,
    };
    this.held.set(trajectoryId, slot);
    this.kept.add(trajectoryId);
    return slot;
  }

  async release({ trajectoryId }: Slot, { resetWorkspace = false } = {}): Promise<void> {
    for (const call of this.calls.splice(0)) {
      if (call.slot.trajectoryId === trajectoryId) call.end({ success: false, failure: 'aborted' });
      else this.calls.push(call);
    }
    this.held.delete(trajectoryId!);
    if (this.unclosable) throw this.unclosable;
    if (resetWorkspace) this.kept.delete(trajectoryId!);
  }

  readonly workspaces: Pick<TrajectoryWorkspaces, 'discard' | 'isReverted' | 'list'> = {
    discard: async (trajectoryId) => {
      this.kept.delete(trajectoryId);
    },
    isReverted: async (trajectoryId) => this.reverted.has(trajectoryId),
    list: async () => [...this.kept],
  };

  executeBatch(
    requests: readonly ExecutionRequest[],
    { signal, onResult }: ExecuteOptions = {},
  ): Promise<ExecutionResult[]> {
    const run = ([slot, tool]: ExecutionRequest, index: number): Promise<ExecutionResult> =>
      new Promise((resolve) => {
        const end = ({ failure, ...outcome }: Outcome = {}): void => {
          const result = {
            success: true,
            output: tool,
            error: '',
            ...outcome,
            executionId: 'exec_1',
            slotId: slot.slotId,
            metadata: {
              duration_s: 0,
              timed_out: false,
              truncated: false,
              ...(failure && { failure }),
            },
          };
          onResult?.(result, index);
          resolve(result);
        };
        signal?.addEventListener('abort', () => end({ success: false, failure: 'aborted' }), { once: true });
        this.calls.push({ tool, slot, end });
      });
    return Promise.all(requests.map(run));
  }

  stats() {
    return { backend: 'fake' };
  }
}

/** As in a pool: a caller that aborts leaves the queue at once. */
async function aborted(signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<void>();
  signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  await promise;
}
