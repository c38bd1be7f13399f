/** Which limit a command ran into, as text for the model. */
import type { LimitFailure } from '../../backend.ts';
import { formatLimit } from '../../describe-limits.ts';

export interface LimitHit {
  failure: LimitFailure;
  /** A sentence or two. */
  message: string;
}

/** A file tool would write more than there is room for. */
export class WorkspaceFullError extends Error {}

const CLEAN_UP = 'Delete files: until it is below that, commands can delete files but write none.';

export function outOfMemory(limitBytes: number | undefined): LimitHit {
  const limit =
    limitBytes === undefined ? 'there is' : `the limit of ${formatLimit('memoryBytes', limitBytes)}`;
  return {
    failure: 'oom',
    message: `The command needed more memory than ${limit}; the kernel ended it, or a process of it.`,
  };
}

export function fileTooLarge(limitBytes: number): LimitHit {
  return {
    failure: 'disk_full',
    message: `The command was ended because a file it wrote reached the limit of ${formatLimit('fileSizeBytes', limitBytes)}.`,
  };
}

export function tooManyProcesses(limit: number): LimitHit {
  const message = `The command could not be started: the processes of this sandbox have reached the limit of ${limit}. End some of those that run in the background, then call again.`;
  return { failure: 'process_limit', message };
}

/** The workspace is over its limit: the command was ended because of it, or had already ended when that was noticed. */
export function workspaceOver(usedBytes: number, limitBytes: number, wasEnded: boolean): LimitHit {
  const what = `the workspace and its /tmp hold ${fillOf(usedBytes, limitBytes)}`;
  const message = wasEnded ? `The command was ended because ${what}.` : `After the command ${what}.`;
  return { failure: 'disk_full', message: `${message} ${CLEAN_UP}` };
}

export function workspaceFull(usedBytes: number, limitBytes: number, exitCode: number | undefined): LimitHit {
  return {
    failure: 'disk_full',
    message: `The command exited with code ${exitCode}. When it started the workspace and its /tmp held ${fillOf(usedBytes, limitBytes)}, so it could delete files but write none.`,
  };
}

export function noRoom(moreBytes: number, usedBytes: number, limitBytes: number): WorkspaceFullError {
  return new WorkspaceFullError(
    `There is no room for ${moreBytes} bytes and nothing was written: the workspace and its /tmp hold ${fillOf(usedBytes, limitBytes)}.`,
  );
}

function fillOf(usedBytes: number, limitBytes: number): string {
  const [used, limit] = [usedBytes, limitBytes].map((bytes) => formatLimit('workspaceBytes', bytes));
  return `${used}, with a limit of ${limit}`;
}
