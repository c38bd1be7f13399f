/**
 * The shell that runs a command, and how the command reaches it: as two parts in descriptor 3, a prelude of ours
 * (variables, directory) and the command itself. From there on standard error is the output too. The prelude runs
 * inside the sandbox because a variable such as LD_PRELOAD must not touch the programs that build it. `eval` keeps
 * the shell's messages those of `bash -c`.
 */
import { readdir, readFile } from 'node:fs/promises';
import { findProgram, SYSTEM_PATH } from '../system-path.ts';

/**
 * What the server inherited from whoever started it and did not mark to be closed would reach the command. Only
 * bash can name descriptors over 9.
 */
const CLOSE_INHERITED =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are the shell's
  'for __fd in /proc/self/fd/*; do __fd=${__fd##*/}; [ "$__fd" -gt 3 ] && eval "exec $__fd>&-"; done; unset __fd';

/** As /proc shows it, on every architecture Node is built for; node:fs does not name it. */
const O_CLOEXEC = 0o2000000;

const BASH_READER = [
  'exec 2>&1',
  'ulimit -c 0',
  CLOSE_INHERITED,
  'IFS= read -r -d "" __prelude <&3',
  'IFS= read -r -d "" __command <&3',
  'exec 3<&-',
  'eval "$__prelude"',
  'eval "unset __prelude __command; $__command"',
].join('; ');

/** Any POSIX shell: it cannot read up to a NUL, so both parts are one text. */
const SH_READER = [
  'exec 2>&1',
  'ulimit -c 0',
  '__script=$(tr "\\000" "\\n" <&3)',
  'exec 3<&-',
  'eval "unset __script; $__script"',
].join('; ');

export interface Script {
  command: string;
  /** As commands see it. */
  workdir: string;
  env: Readonly<Record<string, string>>;
}

export function renderScript({ command, workdir, env }: Script): string {
  const exports = Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}; `);
  return `${exports.join('')}cd -- ${quote(workdir)} || exit 1\0${command}`;
}

/** The command line of the shell: bash where the machine has it, else sh. */
export async function shellArguments(): Promise<string[]> {
  if (await findProgram('bash')) return ['bash', '-c', BASH_READER, 'bash'];
  return ['sh', '-c', SH_READER, 'sh'];
}

/**
 * The command line of a first process for a pid namespace that runs what follows it. It stays a process of its own
 * (`exit $?` keeps the shell from becoming the command): were the command the first process, the kernel would
 * ignore signals it sends to itself. bash starts slower than sh, so it is used only where there is something that
 * only it can close.
 */
export async function firstProcessArguments(): Promise<string[]> {
  if ((await inheritsDescriptors()) && (await findProgram('bash'))) {
    return ['bash', '-c', `${CLOSE_INHERITED}; "$@"; exit $?`, 'bash'];
  }
  return ['sh', '-c', '"$@"; exit $?', 'sh'];
}

/** Whether this process holds descriptors, beyond the usual three, that its children would get. */
async function inheritsDescriptors(): Promise<boolean> {
  for (const fd of await readdir('/proc/self/fd')) {
    const info = await readFile(`/proc/self/fdinfo/${fd}`, 'utf8').catch(() => '');
    const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1];
    if (Number(fd) > 2 && flags !== undefined && !(Number.parseInt(flags, 8) & O_CLOEXEC)) return true;
  }
  return false;
}

/** Everything a command finds in its environment unless it asks for more. */
export function shellEnvironment(homeDir: string, tmpDir: string): Record<string, string> {
  return {
    PATH: SYSTEM_PATH,
    HOME: homeDir,
    TMPDIR: tmpDir,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    USER: 'sandbox',
    LOGNAME: 'sandbox',
  };
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
