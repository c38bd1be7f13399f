/**
 * The files of a directory as git sees them: tracked ones, and others that no rule ignores. Git itself is asked, because
 * only it knows which files are tracked (rules do not apply to those), and the rules of the user's own configuration.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { RawPath } from './raw-path.ts';

const ARGUMENTS = [
  // A program that the configuration of the repository names.
  ...['-c', 'core.fsmonitor=false'],
  ...['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
];

/** In the environment of a hook they name another repository. */
const MISLEADING = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX'];

/**
 * Undefined where git is missing, or knows no repository there. A path may be missing on the disk, and the path of another
 * repository inside is that of its directory.
 */
export async function gitFiles(directory: string): Promise<ReadonlySet<RawPath> | undefined> {
  const env = { ...process.env };
  for (const name of MISLEADING) delete env[name];
  const git = spawn('git', ['-C', directory, ...ARGUMENTS], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const closed = once(git, 'close').catch(() => [undefined]);
  const paths = new Set<RawPath>();
  let rest = '';
  for await (const text of git.stdout.setEncoding('latin1')) {
    const parts = (rest + text).split('\0');
    rest = parts.pop() ?? '';
    // A file with conflicts comes several times.
    for (const path of parts) paths.add(path.replace(/\/$/, ''));
  }
  const [code] = (await closed) as [number | undefined];
  return code === 0 ? paths : undefined;
}
