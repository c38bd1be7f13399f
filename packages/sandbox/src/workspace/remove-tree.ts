/**
 * Deletes what nobody uses any more, whatever a command left in it.
 *
 * rm(1) rather than fs.rm: it works with directory handles, so it neither follows a link swapped in meanwhile nor fails
 * on a tree deeper than PATH_MAX; a command can leave both behind. But starting a process costs more than deleting some
 * files, and most workspaces have few. So the entries of a directory that has few are deleted by name first, which
 * follows no link either: the directory is out of reach of commands by then, and its entries are not entered.
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

export async function removeTree(...paths: string[]): Promise<void> {
  const left: string[] = [];
  for (const path of paths) if (!(await removeFew(path))) left.push(path);
  if (left.length > 0) await removeByProcess(left);
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
  const options = { env: { PATH: SYSTEM_PATH } };
  const remove = () => run('rm', ['-rf', '--', ...paths], options);
  try {
    await remove();
  } catch {
    // A directory without permissions cannot be emptied before they are restored.
    await run('chmod', ['-R', 'u+rwx', '--', ...paths], options).catch(() => {});
    await remove().catch((cause) => {
      throw new SandboxError(
        'workspace_not_removed',
        `Could not delete ${paths.join(', ')}: ${cause.message}`,
        { cause },
      );
    });
  }
}
