/**
 * The file system that isolated commands see, described once for bubblewrap and unshare.
 *
 * It lists what is let in, not what is kept out: the programs and libraries of the system, the parts of /etc that
 * programs need to run, and nothing of /home, /root, /var, /run or /sys. Everything is read-only. The skeleton is a
 * directory with the mount points and links, and with copies of the small parts of /etc, because every command pays for
 * every mount. It is built at start and itself becomes the root. The calls are synchronous: through the thread pool
 * these hundred small ones take more than twice as long.
 *
 * If the server is root and slots have no users of their own (slot-users.ts), a command is still root to the kernel
 * inside its user namespace, though without capabilities: it may open root's files. Hence the short list for /etc, and
 * the extra entries of `ProcView` for root: writing to /proc/sys/kernel/core_pattern needs no capability, only to be
 * root, and runs a program on the host.
 */
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isBeneath } from '../../host/is-beneath.ts';
import { WORKSPACE_DIR } from '../../workspace/workspace-dir.ts';

const SYSTEM_DIRS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/nix'];

/** Parts of /etc with hundreds of entries; the others are copied. */
const ETC_DIRS = ['/etc/alternatives', '/etc/ssl/certs', '/etc/pki/ca-trust', '/etc/pki/tls/certs'];

const ETC = [
  'bash.bashrc',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'debian_version',
  'fonts',
  'gai.conf',
  'host.conf',
  'inputrc',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'locale.alias',
  'locale.conf',
  'localtime',
  'magic',
  'mime.types',
  'os-release',
  'perl',
  'protocols',
  'services',
  'shells',
  'terminfo',
  'timezone',
];

/** Files deeper down. */
const ETC_FILES = ['ssl/cert.pem', 'ssl/openssl.cnf'];

/** Only with the network: without it they would reveal data about the host and help nobody. */
const ETC_NETWORK = ['resolv.conf'];

const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

const PROC_READ_ONLY = ['sys'];
const PROC_READ_ONLY_FOR_ROOT = [...PROC_READ_ONLY, 'irq', 'bus', 'fs', 'acpi', 'asound', 'scsi', 'mtrr'];
/** Lists that namespaces do not separate. For root, also everything that the kernel lets nobody else read. */
const PROC_EMPTY = ['keys', 'key-users'];
const READABLE_BY_OTHERS = 0o004;

/** The user that commands run as, inside. */
export const SANDBOX_UID = 1000;
/** The paths that the sandbox itself needs inside. */
export const OWN_DIR = '/.sandbox';
/** The files of the host that a keeper needs are below this directory; commands find it empty. */
export const HOST_DIR = `${OWN_DIR}/host`;
export const HOST_WORKSPACES = `${HOST_DIR}/workspaces`;
export const HOST_PROC = `${HOST_DIR}/proc`;
export const EMPTY_DIR = `${OWN_DIR}/nothing`;
export const EMPTY_FILE = `${OWN_DIR}/empty`;
/**
 * The size of a command's /dev/shm. It is memory, which no rlimit counts; without a limit it could be half of the
 * machine's.
 */
export const SHM_BYTES = 256 * 1024 * 1024;

export interface SystemView {
  rootDir: string;
  /** Read-only, in the order in which they are mounted. */
  binds: { source: string; target: string }[];
  /** Directories inside a bound one that are empty for commands. */
  hidden: string[];
  devices: string[];
  /** An empty file on the host, used to hide others. */
  emptyFile: string;
  proc: { forRoot: ProcView; forOthers: ProcView };
}

/** How to change a fresh /proc for commands that the kernel sees as this user. */
export interface ProcView {
  /** Paths that commands may only read. */
  readOnly: string[];
  /** Files that are empty for commands. */
  empty: string[];
}

export interface SystemViewOptions {
  rootDir: string;
  allowNetwork: boolean;
  hiddenPaths: readonly string[];
}

export function buildSystemView(options: SystemViewOptions): SystemView {
  const { rootDir } = options;
  const own = [HOST_WORKSPACES, HOST_PROC, EMPTY_DIR];
  for (const dir of ['etc', 'proc', 'dev/shm', 'dev/pts', 'tmp', 'run', 'var', WORKSPACE_DIR, ...own]) {
    mkdirSync(join(rootDir, dir), { recursive: true });
  }
  symlinkSync('../tmp', join(rootDir, 'var/tmp'));
  writeIdentity(rootDir);

  const binds: SystemView['binds'] = [];
  for (const dir of SYSTEM_DIRS) addPath(rootDir, dir, binds);
  for (const dir of ETC_DIRS) addBind(rootDir, dir, binds);
  const devices = DEVICES.map((name) => `/dev/${name}`).filter(exists);
  for (const device of devices) writeFileSync(join(rootDir, device), '');
  linkDevices(rootDir);
  const emptyFile = join(rootDir, EMPTY_FILE);
  writeFileSync(emptyFile, '');
  if (process.getuid?.() === 0) letOthersRead(rootDir);
  copyEtc(rootDir, [...ETC, ...javaSettings(), ...(options.allowNetwork ? ETC_NETWORK : [])]);
  const hidden = hiddenBeneath(options.hiddenPaths, binds);
  return { rootDir, binds, hidden, devices, emptyFile, proc: procViews() };
}

/** Commands have the server's user unless slots have their own. */
export function procFor({ proc }: SystemView, ownUsers: boolean): ProcView {
  return process.getuid?.() === 0 && !ownUsers ? proc.forRoot : proc.forOthers;
}

function procViews(): SystemView['proc'] {
  const inProc = (names: readonly string[]) => names.map((name) => `/proc/${name}`).filter(exists);
  // By name first: a process whose directory is listed here may have ended before it is examined.
  const onlyRoots = readdirSync('/proc')
    .filter((name) => !/^\d+$/.test(name))
    .map((name) => `/proc/${name}`)
    .filter((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found?.isFile() === true && (found.mode & READABLE_BY_OTHERS) === 0;
    });
  return {
    forOthers: { readOnly: inProc(PROC_READ_ONLY), empty: inProc(PROC_EMPTY) },
    forRoot: { readOnly: inProc(PROC_READ_ONLY_FOR_ROOT), empty: [...inProc(PROC_EMPTY), ...onlyRoots] },
  };
}

function writeIdentity(rootDir: string): void {
  const files = {
    passwd: `sandbox:x:${SANDBOX_UID}:${SANDBOX_UID}:sandbox:${WORKSPACE_DIR}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n`,
    group: `sandbox:x:${SANDBOX_UID}:\nnogroup:x:65534:\n`,
    hosts: '127.0.0.1 localhost sandbox\n::1 localhost sandbox\n',
    hostname: 'sandbox\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(rootDir, 'etc', name), content);
}

function linkDevices(rootDir: string): void {
  const links = { fd: '/proc/self/fd', stdin: 'fd/0', stdout: 'fd/1', stderr: 'fd/2', ptmx: 'pts/ptmx' };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(rootDir, 'dev', name));
}

/** A directory of the system: most are links into /usr today, and stay links. */
function addPath(rootDir: string, path: string, binds: SystemView['binds']): void {
  const entry = ifPossible(() => lstatSync(path));
  if (entry?.isSymbolicLink()) symlinkSync(readlinkSync(path), join(rootDir, path));
  else if (entry) addBind(rootDir, path, binds);
}

/** Debian keeps there what no Java starts without. */
function javaSettings(): string[] {
  return (ifPossible(() => readdirSync('/etc')) ?? []).filter((name) => /^java-\d+-openjdk$/.test(name));
}

/**
 * Whatever the server's umask is, slots with users of their own must be able to read what is created here. Links are not
 * followed (a recursive `readdir` of Node does): `dev/fd` leads to every directory that the server has open.
 */
function letOthersRead(directory: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) letOthersRead(path);
    else if (entry.isFile()) chmodSync(path, 0o644);
  }
}

/**
 * A link among the names is followed; links inside a directory stay links. What the server may not read is left out,
 * and what only root may read stays so.
 */
function copyEtc(rootDir: string, names: readonly string[]): void {
  for (const name of ETC_FILES.filter((name) => exists(join('/etc', name)))) {
    const dir = dirname(join(rootDir, 'etc', name));
    mkdirSync(dir, { recursive: true });
    chmodSync(dir, 0o755);
  }
  for (const name of [...names, ...ETC_FILES]) {
    const path = join('/etc', name);
    ifPossible(() => copyTree(realpathSync(path), join(rootDir, path)));
  }
}

function copyTree(source: string, target: string): void {
  const stats = lstatSync(source);
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
  else if (stats.isDirectory()) {
    const names = readdirSync(source);
    mkdirSync(target);
    for (const name of names) ifPossible(() => copyTree(join(source, name), join(target, name)));
  } else if (stats.isFile()) copyFileSync(source, target);
  // Not more than a new file has by the usual umask, whatever the umask of the server is.
  if (stats.isDirectory() || stats.isFile()) chmodSync(target, stats.mode & 0o755);
}

function addBind(rootDir: string, path: string, binds: SystemView['binds']): void {
  const source = ifPossible(() => realpathSync(path));
  if (source === undefined) return;
  mkdirSync(join(rootDir, path), { recursive: true });
  binds.push({ source, target: path });
}

function hiddenBeneath(paths: readonly string[], binds: SystemView['binds']): string[] {
  const hidden: string[] = [];
  for (const path of paths) {
    const real = ifPossible(() => realpathSync(path));
    if (real === undefined || !statSync(real).isDirectory()) continue;
    for (const { source, target } of binds) {
      if (isBeneath(real, source)) hidden.push(join(target, real.slice(source.length)));
    }
  }
  return hidden;
}

function exists(path: string): boolean {
  return ifPossible(() => lstatSync(path)) !== undefined;
}

function ifPossible<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
