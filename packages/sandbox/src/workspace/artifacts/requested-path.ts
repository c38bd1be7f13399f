import { InvalidPathError, pathComponents } from '../files/path-components.ts';
import { toSandboxError } from './failures.ts';

/**
 * The components of a path that a caller outside the sandbox requests; none for the workspace itself. `workspaceDir` is the
 * directory as commands see it.
 */
export function requestedPath(path: string, workspaceDir: string): string[] {
  if (path === '') return [];
  try {
    if (!path.isWellFormed()) throw new InvalidPathError('The path is not valid Unicode.');
    return pathComponents(path, workspaceDir);
  } catch (error) {
    throw toSandboxError(error);
  }
}
