/**
 * The files with whole outputs: of commands that printed more than their answers show, and of background processes.
 *
 *   <the /tmp of the workspace>/talaria-output/<id>.log
 *
 * They belong to the server and not to the work, so they are not in the tree of the workspace: no listing, archive, capture or
 * snapshot has them. In its /tmp commands see them, they count against its limit, and they end with it. Commands own the directory
 * and may put anything there, so files in it are opened like those of a workspace: by directory handle, following no link.
 */
import { posix } from 'node:path';
import { pathComponents, WorkspacePathError } from './path-components.ts';

const DIRECTORY = 'talaria-output';

/** The components of a new file below the /tmp. */
export function outputFile(id: string): string[] {
  return [DIRECTORY, `${id}.log`];
}

/** The components below the /tmp of a path among whole outputs; undefined for any other. `tmpDir` is as commands see it. */
export function outputComponents(path: string, tmpDir: string): string[] | undefined {
  const below = `${posix.join(tmpDir, DIRECTORY)}/`;
  // By its text the path has to be there all along: `..` leads neither out nor in.
  const isThere = [path, posix.normalize(path)].every((each) => `${each}/`.startsWith(below));
  return isThere ? [DIRECTORY, ...pathComponents(path, below.slice(0, -1))] : undefined;
}

/** Says of an output that is missing why it can be. */
export async function explainMissing<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const { cause } = error as Error;
    if (
      !(error instanceof WorkspacePathError) ||
      (cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT'
    )
      throw error;
    const message = `${path} does not exist. A whole output stays with the workspace that its command ran in, and does not move with copies of the files: run the command again.`;
    throw new WorkspacePathError(message, { cause });
  }
}
