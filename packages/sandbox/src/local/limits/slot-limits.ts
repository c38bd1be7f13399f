/**
 * The limits of one slot while it is held: its control group, made at its first command, and what the kernel has
 * reported of it.
 */
import type { FailureReason } from '../../backend.ts';
import type { CommandEnd } from '../process/run-command.ts';
import type { BackendLimits } from './backend-limits.ts';
import { formatLimit } from './describe-limits.ts';
import type { LaunchLimits } from './launch-limits.ts';
import { SlotGroup } from './slot-group.ts';

/** What a command ran into. */
export interface LimitHit {
  failure: Extract<FailureReason, 'oom' | 'disk_full'>;
  /** For the model: a sentence. */
  message: string;
}

/** A command from before its launch to its end. */
export interface LimitedCommand {
  readonly launch: LaunchLimits;
  hitBy(end: CommandEnd): LimitHit | undefined;
  done(): void;
}

interface Running {
  /** Whether no other command has run in the slot beside it. */
  alone: boolean;
}

export class SlotLimits {
  readonly #limits: BackendLimits;
  readonly #running = new Set<Running>();
  #group: Promise<SlotGroup> | undefined;

  constructor(limits: BackendLimits) {
    this.#limits = limits;
  }

  async begin(): Promise<LimitedCommand> {
    const { groups, rlimits, ownOomKills } = this.#limits;
    const group = groups && (await this.#openGroup());
    const oomKills = group?.oomKills ?? ownOomKills;
    const killsBefore = oomKills();
    const running: Running = { alone: group?.oomKills !== undefined && this.#running.size === 0 };
    for (const other of this.#running) other.alone = false;
    this.#running.add(running);
    return {
      launch: { entrances: group?.entrances ?? [], rlimits },
      hitBy: (end) => {
        if (end.cause !== 'exited' || end.exitCode === 0) return undefined;
        // Who shares its group with others may have failed for reasons of its own while one of them was ended.
        const mayBeVictim = running.alone || end.signal === 'SIGKILL';
        if (mayBeVictim && oomKills() > killsBefore) return this.#outOfMemory();
        return end.signal === 'SIGXFSZ' ? this.#fileTooLarge() : undefined;
      },
      done: () => this.#running.delete(running),
    };
  }

  async close(): Promise<void> {
    const group = await this.#group?.catch(() => undefined);
    this.#group = undefined;
    await group?.remove();
  }

  #openGroup(): Promise<SlotGroup> {
    const { homes, limits } = this.#limits.groups ?? { homes: [], limits: {} };
    // A failed attempt is not kept: the next command tries again.
    this.#group ??= SlotGroup.create(homes, limits).catch((error: unknown) => {
      this.#group = undefined;
      throw error;
    });
    return this.#group;
  }

  #outOfMemory(): LimitHit {
    const bytes = this.#limits.groups?.limits.memoryBytes;
    const limit = bytes === undefined ? 'the memory there is' : formatLimit('memoryBytes', bytes);
    return {
      failure: 'oom',
      message: `The command ran out of memory: it needed more than ${limit}, and the kernel ended it.`,
    };
  }

  #fileTooLarge(): LimitHit | undefined {
    const bytes = this.#limits.rlimits.fileSizeBytes;
    if (bytes === undefined) return undefined;
    const limit = formatLimit('fileSizeBytes', bytes);
    return {
      failure: 'disk_full',
      message: `The command was ended because a file it wrote reached ${limit}.`,
    };
  }
}
