/**
 * Deletes directories that nobody uses any more, whatever a command left in them.
 *
 * rm(1) rather than fs.rm: it works with directory handles, so it neither follows a link swapped in meanwhile nor fails
 * on a tree deeper than PATH_MAX; a command can leave both behind. But starting a process costs more than deleting some
 * files, and most workspaces have few. So the entries of a directory that has few are deleted by name first, which
 * follows no link either: commands cannot reach the directory any more, and its entries are not entered.
 */
import { execFile } from 'node:child_process';
import { lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SandboxError } from '../errors.ts';
import { SYSTEM_PATH } from '../host/system-path.ts';

const run = promisify(execFile);

/** With so many, they take about as long as a process. */
const FEW = 50;
const OPTIONS = { env: { PATH: SYSTEM_PATH } };

export async function removeTree(...paths: string[]): Promise<void> {
  const left: string[] = [];
  for (const path of paths) if (!(await removeFew(path))) left.push(path);
  if (left.length > 0) await removeByProcess(left);
}

/**
 * Deletes a tree that commands can still reach. They may put a link in the place of any directory of it, so only rm(1) touches
 * it. A directory without permissions stays, which is an error: chmod(1) would follow such a link.
 */
export async function removeReachableTree(path: string): Promise<void> {
  await rm([path]).catch((cause) => {
    throw notRemoved([path], cause);
  });
}

/** False if something is left. */
async function removeFew(path: string): Promise<boolean> {
  try {
    if (!(await lstat(path)).isDirectory()) return false;
    const entries = await readdir(path, { withFileTypes: true });
    if (entries.length > FEW) return false;
    for (const entry of entries) {
      const entryPath = join(path, entry.name);
      await (entry.isDirectory() ? rmdir(entryPath) : unlink(entryPath));
    }
    await rmdir(path);
    return true;
  } catch {
    return false;
  }
}

async function removeByProcess(paths: readonly string[]): Promise<void> {
  try {
    await rm(paths);
  } catch {
    // A directory without permissions cannot be emptied before they are restored.
    await run('chmod', ['-R', 'u+rwx', '--', ...paths], OPTIONS).catch(() => {});
    await rm(paths).catch((cause) => {
      throw notRemoved(paths, cause);
    });
  }
}

async function rm(paths: readonly string[]): Promise<void> {
  await run('rm', ['-rf', '--', ...paths], OPTIONS);
}

function notRemoved(paths: readonly string[], cause: Error): SandboxError {
  return new SandboxError('workspace_not_removed', `Could not delete ${paths.join(', ')}: ${cause.message}`, {
    cause,
  });
}
