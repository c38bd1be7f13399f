/**
 * The entries that a checkpoint does not hold although they were in the workspace. If a directory was left out, only the
 * directory is named, but every path below it was left out, too. Paths are strings with one character per byte
 * (`fromCapturedPath`).
 */
import { fromCapturedPath, type OmissionReason } from '@talaria/sandbox';
import type { CheckpointFiles } from './checkpoint-tree.ts';

const WHY: Record<OmissionReason, string> = {
  special: 'it was a FIFO, a socket or a device',
  unreadable: 'it could not be read',
  too_large: 'it was too large',
  too_many: 'the workspace had too many entries',
  too_deep: 'it was below too many directories',
  ignored: 'a rule of the server leaves it out',
};

export class Omissions {
  readonly #reasons = new Map<string, OmissionReason>();
  /** Whether every path that was left out is known. */
  readonly areKnown: boolean;

  constructor({ omitted, omittedCount }: Pick<CheckpointFiles, 'omitted' | 'omittedCount'>) {
    for (const entry of omitted) this.#reasons.set(fromCapturedPath(entry), entry.reason);
    // After the first entry too many, nobody looked at the rest of the workspace.
    this.areKnown = omittedCount <= omitted.length && !omitted.some(({ reason }) => reason === 'too_many');
  }

  /** Undefined if the path is not known to have been left out. */
  reasonOf(path: string): OmissionReason | undefined {
    if (this.#reasons.size === 0) return undefined;
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const reason = this.#reasons.get(path.slice(0, end));
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /** Why nothing is found at this path, for people. */
  explain(path: string): string {
    const reason = this.reasonOf(path);
    const shown = Buffer.from(path, 'latin1').toString();
    if (reason !== undefined) return `${shown} was not kept in this checkpoint: ${WHY[reason]}.`;
    return this.areKnown
      ? `${shown} does not exist in this checkpoint.`
      : `${shown} does not exist in this checkpoint, or was not kept in it.`;
  }
}
