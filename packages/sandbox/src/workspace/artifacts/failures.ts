/** Failures at a path, in the codes of the contract. */
import { SandboxError } from '../../errors.ts';
import { InvalidPathError, WorkspacePathError } from '../files/path-components.ts';

export async function nameFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toSandboxError(error);
  }
}

export function toSandboxError(error: unknown): unknown {
  if (!(error instanceof WorkspacePathError)) return error;
  return new SandboxError(isMissing(error) ? 'artifact_not_found' : 'invalid_path', error.message, {
    cause: error,
  });
}

/**
 * Whether this is a normal failure in a tree that others change: the name is gone, or now leads to something else, or its
 * permissions were removed.
 */
export function isPassing(error: unknown): boolean {
  return error instanceof WorkspacePathError;
}

/** Whether nothing has the name. */
function isMissing(error: unknown): boolean {
  return isPassing(error) && !(error instanceof InvalidPathError) && causeOf(error as Error) === 'ENOENT';
}

export function changed(path: string): SandboxError {
  return new SandboxError('artifact_changed', `${path} changed while it was read; try again.`);
}

export function tooLarge(what: string): SandboxError {
  return new SandboxError('artifact_too_large', `${what}; archive a part of it.`);
}

function causeOf(error: Error): string | undefined {
  return (error.cause as NodeJS.ErrnoException | undefined)?.code;
}
