/**
 * The shell that runs a command, and how the command reaches it: as two parts in descriptor 3, a prelude of ours
 * (variables, directory) and the command itself. From then on standard error goes to the output, or to its own pipe. The prelude runs
 * inside the sandbox because a variable such as LD_PRELOAD must not affect the programs that build it. With `eval` the
 * shell's messages are the same as with `bash -c`.
 */

import { findProgram, SYSTEM_PATH } from '../../host/system-path.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import { type LaunchLimits, renderEntry } from '../limits/launch-limits.ts';
import { renderRlimits } from '../limits/rlimits.ts';
import { inheritedDescriptors } from '../process/inherited.ts';

/** `close`: the numbers of inherited descriptors that lead nowhere (process/inherited.ts). */
const bashReader = (close: readonly number[]) => [
  'IFS= read -r -d "" __prelude <&3',
  'IFS= read -r -d "" __command <&3',
  ...[3, ...close].map((fd) => `exec ${fd}<&-`),
  'eval "$__prelude"',
  // The prelude may define functions and aliases with any name.
  'builtin eval "\\builtin unset __prelude __command; $__command"',
];

/** Any POSIX shell: it cannot read up to a NUL, so both parts are one text, and it cannot use a descriptor over 9. */
const SH_READER = ['__script=$(tr "\\000" "\\n" <&3)', 'exec 3<&-', 'eval "unset __script; $__script"'];

/** Killed before the server, and in a container before the server inside: the kernel ends the highest score first. */
const FIRST_WHEN_MEMORY_RUNS_OUT = '{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null';

export interface Script {
  command: string;
  /** As commands see it. */
  workdir: string;
  env: Readonly<Record<string, string>>;
  /** More of the prelude; it comes last. */
  setup?: Uint8Array;
}

export function renderScript({ command, workdir, env, setup }: Script): Buffer {
  const exports = Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}; `);
  const prelude = `${exports.join('')}cd -- ${quote(workdir)} || exit 1\n`;
  return Buffer.concat([Buffer.from(prelude), setup ?? new Uint8Array(), Buffer.from(`\0${command}`)]);
}

export type ShellKind = 'bash' | 'sh';

export interface Shell {
  kind: ShellKind;
  /** An entry program does not search the PATH (entry/entry-program.ts). */
  path: string;
}

/** Which shell runs commands: bash if the machine has it, else sh. */
export async function findShell(): Promise<Shell> {
  const bash = await findProgram('bash');
  return bash ? { kind: 'bash', path: bash } : { kind: 'sh', path: (await findProgram('sh')) ?? '/bin/sh' };
}

export interface ShellStart {
  /** Whether it enters its groups itself, because no first process does. */
  isFirst?: boolean;
  /** The descriptor of a pipe for errors, if they have one. */
  errors?: number | undefined;
}

/** The command line of the shell. */
export function shellArguments(
  { kind: shell, path }: Shell,
  limits: LaunchLimits,
  { isFirst = false, errors = 1 }: ShellStart = {},
): string[] {
  const reader = shell === 'bash' ? bashReader(inheritedDescriptors()) : SH_READER;
  const steps = [
    errors <= 2 ? `exec 2>&${errors}` : `exec 2>&${errors} ${errors}>&-`,
    'ulimit -c 0',
    FIRST_WHEN_MEMORY_RUNS_OUT,
    ...renderRlimits(limits.rlimits, shell),
    ...reader,
  ];
  return [path, '-c', (isFirst ? renderEntry(limits) : '') + steps.join('; '), shell];
}

/**
 * The command line of a first process for a pid namespace, which runs what follows. It stays a separate process (`exit
 * $?` keeps the shell from becoming the command): if the command were the first process, the kernel would ignore
 * signals it sends to itself. sh, because it starts faster than bash.
 */
export function firstProcess(limits: LaunchLimits): string[] {
  return ['/bin/sh', '-c', `${renderEntry(limits)}"$@"; exit $?`, 'sh'];
}

/** The whole environment of a command, unless it asks for more. The directories are those that it sees. */
export function shellEnvironment(
  { isMounted }: Pick<Workspace, 'isMounted'>,
  { dir, tmpDir }: Pick<Workspace, 'dir' | 'tmpDir'>,
): Record<string, string> {
  return {
    PATH: SYSTEM_PATH,
    // Programs keep files in their user's home; these must not end up among the files of the operator.
    HOME: isMounted ? tmpDir : dir,
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
