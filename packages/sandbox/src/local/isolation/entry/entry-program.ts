/**
 * The last step into a sandbox: a program that makes a few system calls and then executes the program named by its
 * arguments. No shell can make those calls, and the tools that can are missing on most machines or cost a process each.
 * So the server writes the program itself: a static executable of about three kilobytes.
 *
 * It runs a table of calls (call-table.ts). If one of them fails, it ends with a message and code 125.
 *
 *   mount                               it makes mounts read-only, if it has the right to
 *   setgroups, setresgid, setresuid     it becomes the slot's own user, if the slot has one
 *   unshare, and three files of /proc   a user namespace of its own, in which it is SANDBOX_UID
 *   prctl                               no program can give it rights any more (no_new_privs)
 *   seccomp                             the filter
 */
import { SANDBOX_UID } from '../system-view.ts';
import type { Architecture } from './call-numbers.ts';
import {
  ARGUMENTS,
  callTable,
  ENVIRONMENT,
  FIRST_ARGUMENT,
  Filter,
  FREE_MEMORY,
  type Step,
  Word,
} from './call-table.ts';
import { CONTENT_ADDRESS, executable } from './executable.ts';
import { seccompFilter } from './filter.ts';
import { machineCode } from './machine-code.ts';

export interface Entry {
  /** Mounts to make read-only. */
  readOnly?: ReadOnlyMounts | undefined;
  /** The kernel user and group to become; without it the process keeps its own. */
  user?: number | undefined;
  /** The group, if its number is not that of the user. */
  group?: number | undefined;
  /** The user that becomes SANDBOX_UID in a new user namespace; without it none is created. */
  mappedUser?: number | undefined;
}

export interface ReadOnlyMounts {
  paths: readonly string[];
  /** Restrictions that already apply to them and must be repeated. */
  options: readonly string[];
}

const MOUNT_FLAGS = {
  ...{ ro: 1, nosuid: 2, nodev: 4, noexec: 8, remount: 32, bind: 4096 },
  ...{ recursive: 0x4000, private: 0x40000 },
} as const;
const CLONE_NEWUSER = 0x10000000;
const PR_SET_DUMPABLE = 4;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_SET_MODE_FILTER = 1;
const AT_FDCWD = -100;
const O_WRONLY_CLOEXEC = 0o2000001;

const MESSAGE = 'sandbox: a step into the sandbox was refused.\n';
const REFUSED_CODE = 125;
const STANDARD_ERROR = 2;

/** The last open file. */
const OPENED = new Word(FREE_MEMORY);

/** The building blocks of this machine's entry programs; undefined if there is no machine code for it. */
export function entryArchitecture(): Architecture | undefined {
  return process.arch === 'x64' || process.arch === 'arm64' ? process.arch : undefined;
}

export function entryProgram(entry: Entry, architecture: Architecture): Buffer {
  const steps: Step[] = [
    ...readOnlySteps(entry),
    ...userSteps(entry),
    ...filterSteps(architecture),
    ['execve', [FIRST_ARGUMENT, ARGUMENTS, ENVIRONMENT]],
    ['write', [STANDARD_ERROR, MESSAGE, MESSAGE.length], { label: 'refused', ifNegative: 'end' }],
    ['exit_group', [REFUSED_CODE], { label: 'end' }],
  ];
  const code = machineCode(architecture);
  const { bytes } = callTable(steps, CONTENT_ADDRESS + code.length, architecture);
  return executable(Buffer.concat([code, bytes]), architecture);
}

export function readOnlySteps({ readOnly }: Pick<Entry, 'readOnly'>): Step[] {
  if (!readOnly) return [];
  const flags = mountFlags(['remount', 'bind', 'ro', ...readOnly.options]);
  return readOnly.paths.map((path) => ['mount', [0, path, 0, flags]]);
}

/** Keeps out what the machine mounts later: commands could write to it. */
export function privateSteps(): Step[] {
  return [['mount', [0, '/', 0, mountFlags(['recursive', 'private'])]]];
}

export function mountFlags(names: readonly string[]): number {
  return Object.entries(MOUNT_FLAGS)
    .filter(([name]) => names.includes(name))
    .reduce((sum, [, flag]) => sum + flag, 0);
}

export function userSteps({ user, group, mappedUser }: Pick<Entry, 'user' | 'group' | 'mappedUser'>): Step[] {
  return [...ownUserSteps(user, group), ...mapSteps(mappedUser, group)];
}

export function filterSteps(architecture: Architecture): Step[] {
  return [
    ['prctl', [PR_SET_NO_NEW_PRIVS, 1]],
    ['seccomp', [SECCOMP_SET_MODE_FILTER, 0, new Filter(seccompFilter(architecture))]],
  ];
}

function ownUserSteps(user: number | undefined, group = user): Step[] {
  if (user === undefined || group === undefined) return [];
  return [['setgroups'], ['setresgid', [group, group, group]], ['setresuid', [user, user, user]]];
}

function mapSteps(mappedUser: number | undefined, group = mappedUser): Step[] {
  if (mappedUser === undefined) return [];
  const map = (id: number | undefined) => `${SANDBOX_UID} ${id} 1\n`;
  return [
    ['unshare', [CLONE_NEWUSER]],
    // After a change of user, the process cannot access its own files in /proc.
    ['prctl', [PR_SET_DUMPABLE, 1]],
    ...writeSteps('/proc/self/setgroups', 'deny'),
    ...writeSteps('/proc/self/uid_map', map(mappedUser)),
    ...writeSteps('/proc/self/gid_map', map(group)),
  ];
}

function writeSteps(path: string, text: string): Step[] {
  return [
    ['openat', [AT_FDCWD, path, O_WRONLY_CLOEXEC], { to: OPENED }],
    ['write', [OPENED, text, text.length]],
  ];
}
