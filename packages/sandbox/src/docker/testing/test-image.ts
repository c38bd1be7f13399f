/**
 * An image made from this machine's programs: a shell, the usual programs and the libraries they load. It needs no
 * registry.
 */
import { execFile } from 'node:child_process';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readlink,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../host/system-path.ts';

const run = promisify(execFile);

/**
 * The programs that the tests' commands call, and those that LocalBackend needs to run them. Missing ones are left out.
 */
export const TEST_PROGRAMS = `
  sh bash stty bwrap unshare nsenter setpriv mount umount pivot_root setsid ip prlimit grep sed find xargs tar gzip awk ps
  perl flock tee basename cat chmod chown cksum cp cut date dd df dirname du echo env expr false head id install kill
  ln ls md5sum mkdir mkfifo mknod mktemp mv nice nohup nproc od printenv printf pwd readlink realpath rm rmdir seq
  sha256sum shuf sleep sort split stat stdbuf sync tail test timeout touch tr true truncate uname uniq wc whoami yes
`
  .trim()
  .split(/\s+/);
/** Links into /usr on most systems; they stay links. */
const LINKS = ['/bin', '/sbin', '/lib', '/lib64'];
const DIRECTORIES = ['etc', 'proc', 'sys', 'dev', 'tmp', 'run', 'var'];

export interface PackedRoot extends AsyncDisposable {
  readonly path: string;
}

export interface RootOptions {
  programs?: readonly string[];
  /** Whether node runs in it. */
  nodeLibraries?: boolean;
}

/** A tar of the root file system. */
export async function packTestRoot({
  programs = TEST_PROGRAMS,
  nodeLibraries = true,
}: RootOptions = {}): Promise<PackedRoot> {
  const dir = await mkdtemp(join(tmpdir(), 'talaria-image-'));
  const root = join(dir, 'root');
  for (const name of DIRECTORIES) await mkdir(join(root, name), { recursive: true });
  // As in every image: what is mounted over it gets its mode.
  await chmod(join(root, 'tmp'), 0o1777);
  for (const link of LINKS) {
    const isLink = (await lstat(link).catch(() => undefined))?.isSymbolicLink();
    if (isLink) await symlink(await readlink(link), join(root, link));
  }
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/:/bin/sh\n');
  const files = (await Promise.all(programs.map(findProgram))).filter((path) => path !== undefined);
  const libraries = await librariesOf(nodeLibraries ? [process.execPath, ...files] : files);
  for (const file of new Set([...files, ...libraries])) await copyInto(root, file);
  // Every image has this: without it each program searches dozens of directories for each library, which takes longer
  // than everything else.
  await run('ldconfig', ['-r', root]).catch(() => {});
  const path = join(dir, 'root.tar');
  await run('tar', ['-C', root, '-cf', path, '.']);
  return { path, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}

async function librariesOf(programs: readonly string[]): Promise<string[]> {
  // It fails for a script and prints the libraries of the rest.
  const { stdout } = await run('ldd', programs).catch((error: { stdout: string }) => error);
  return [...stdout.matchAll(/(?:=> |^\t)(\/\S+) \(/gm)].map((match) => match[1] as string);
}

/** Adds a file under its name on this machine, with its directories resolved: of a link, its target is copied. */
async function copyInto(root: string, file: string): Promise<void> {
  const directory = join(root, await realpath(dirname(file)));
  await mkdir(directory, { recursive: true });
  await cp(await realpath(file), join(directory, basename(file)));
}
