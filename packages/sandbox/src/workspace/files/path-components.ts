/** Paths in a workspace, judged by their text alone. */

const MAX_PATH_LENGTH = 4096;

/** A path with nothing usable at its place; the message is for the model. */
export class WorkspacePathError extends Error {}

/** A path whose text already leads out of the workspace. */
export class InvalidPathError extends WorkspacePathError {}

/** Whether a path can lie in the workspace, wherever that is; false if it leads out of any workspace. */
export function canBeInWorkspace(path: string): boolean {
  try {
    pathComponents(path, '');
    return true;
  } catch {
    return false;
  }
}

/** The components of a path inside the workspace; relative, or absolute as commands see it. */
export function pathComponents(path: string, workspaceDir: string): string[] {
  if (path === '') throw new InvalidPathError('The path is empty.');
  if (path.includes('\0')) throw new InvalidPathError('The path contains a NUL character.');
  if (path.length > MAX_PATH_LENGTH)
    throw new InvalidPathError(`The path is over ${MAX_PATH_LENGTH} characters.`);
  const components: string[] = [];
  for (const component of relativePath(path, workspaceDir).split('/')) {
    if (component === '' || component === '.') continue;
    if (component !== '..') components.push(component);
    else if (components.pop() === undefined) throw outside(path, workspaceDir);
  }
  return components;
}

function relativePath(path: string, workspaceDir: string): string {
  if (!path.startsWith('/')) return path;
  if (path === workspaceDir) return '';
  if (!path.startsWith(`${workspaceDir}/`)) throw outside(path, workspaceDir);
  return path.slice(workspaceDir.length + 1);
}

function outside(path: string, workspaceDir: string): InvalidPathError {
  return new InvalidPathError(`${path} is outside the workspace ${workspaceDir}.`);
}
