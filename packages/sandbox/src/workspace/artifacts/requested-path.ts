import { InvalidPathError, pathComponents } from '../files/path-components.ts';
import { toSandboxError } from './failures.ts';

/**
 * The components of a path that somebody outside the sandbox asks for; none for the workspace itself. `workspaceDir` is the
 * directory as commands see it.
 */
export function requestedPath(path: string, workspaceDir: string): string[] {
  if (path === '') return [];
  try {
    if (!path.isWellFormed()) throw new InvalidPathError('The path is no valid Unicode.');
    return pathComponents(path, workspaceDir);
  } catch (error) {
    throw toSandboxError(error);
  }
}
