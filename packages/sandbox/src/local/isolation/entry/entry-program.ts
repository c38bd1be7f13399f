/**
 * The last step into a sandbox: a program that makes a few system calls and then executes the program named by its
 * arguments. No shell can make those calls, and the tools that can are missing on most machines or cost a process each.
 * So the server writes the program itself: a static executable of about two kilobytes.
 *
 * Its machine code only steps through a table of calls and stops at the first that fails. The table defines what it
 * does:
 *
 *   mount                               it makes mounts read-only, where it has the right to
 *   setgroups, setresgid, setresuid     it becomes the slot's own user, where the slot has one
 *   unshare, and three files of /proc   a user namespace of its own, in which it is SANDBOX_UID
 *   prctl                               no program can give it rights any more (no_new_privs)
 *   seccomp                             the filter
 */
import { SANDBOX_UID } from '../system-view.ts';
import { type Architecture, type CallName, callNumber } from './call-numbers.ts';
import { CONTENT_ADDRESS, executable } from './executable.ts';
import { seccompFilter } from './filter.ts';
import { ENTRY_WORDS, machineCode } from './machine-code.ts';

export interface Entry {
  /** Mounts to make read-only. */
  readOnly?: ReadOnlyMounts | undefined;
  /** The kernel user and group to become; without it the process keeps its own. */
  user?: number | undefined;
  /** The user that becomes SANDBOX_UID in a new user namespace; without it none is created. */
  mappedUser?: number | undefined;
}

export interface ReadOnlyMounts {
  paths: readonly string[];
  /** Restrictions that already apply to them and must be repeated. */
  options: readonly string[];
}

const MOUNT_FLAGS = { ro: 1, nosuid: 2, nodev: 4, noexec: 8, remount: 32, bind: 4096 } as const;
const CLONE_NEWUSER = 0x10000000;
const PR_SET_DUMPABLE = 4;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_SET_MODE_FILTER = 1;
const AT_FDCWD = -100;
const O_WRONLY_CLOEXEC = 0o2000001;

/** As the first argument: the result of the call before it. */
const LAST_RESULT = -1;
const END_OF_TABLE = -1;
const WORD_BYTES = 8;

/** Text and bytes are passed by their address. */
type Argument = number | string | Filter;
type Step = readonly [call: CallName, ...args: Argument[]];

class Filter {
  readonly instructions: Buffer;

  constructor(instructions: Buffer) {
    this.instructions = instructions;
  }
}

/** The building blocks of this machine's entry programs; undefined if there is no machine code for it. */
export function entryArchitecture(): Architecture | undefined {
  return process.arch === 'x64' || process.arch === 'arm64' ? process.arch : undefined;
}

export function entryProgram(entry: Entry, architecture: Architecture): Buffer {
  const steps: Step[] = [
    ...mountSteps(entry),
    ...userSteps(entry),
    ...mapSteps(entry),
    ['prctl', PR_SET_NO_NEW_PRIVS, 1],
    ['seccomp', SECCOMP_SET_MODE_FILTER, 0, new Filter(seccompFilter(architecture))],
  ];
  const code = machineCode(architecture);
  const data = new DataSection(CONTENT_ADDRESS + code.length + (steps.length + 1) * ENTRY_WORDS * WORD_BYTES);
  const table = steps.map(([call, ...args]) => {
    const number = callNumber(call, architecture);
    if (number === undefined) throw new Error(`${architecture} has no system call ${call}`);
    return tableEntry([number, ...args.map((argument) => data.addressOf(argument))]);
  });
  return executable(
    Buffer.concat([code, ...table, tableEntry([END_OF_TABLE]), data.content()]),
    architecture,
  );
}

function mountSteps({ readOnly }: Entry): Step[] {
  if (!readOnly) return [];
  const names = ['remount', 'bind', 'ro', ...readOnly.options];
  const flags = Object.entries(MOUNT_FLAGS)
    .filter(([name]) => names.includes(name))
    .reduce((sum, [, flag]) => sum + flag, 0);
  return readOnly.paths.map((path) => ['mount', 0, path, 0, flags]);
}

function userSteps({ user }: Entry): Step[] {
  if (user === undefined) return [];
  return [['setgroups'], ['setresgid', user, user, user], ['setresuid', user, user, user]];
}

function mapSteps({ mappedUser }: Entry): Step[] {
  if (mappedUser === undefined) return [];
  const map = `${SANDBOX_UID} ${mappedUser} 1\n`;
  return [
    ['unshare', CLONE_NEWUSER],
    // After a change of user, the process cannot access its own files in /proc.
    ['prctl', PR_SET_DUMPABLE, 1],
    ...writeSteps('/proc/self/setgroups', 'deny'),
    ...writeSteps('/proc/self/uid_map', map),
    ...writeSteps('/proc/self/gid_map', map),
  ];
}

function writeSteps(path: string, text: string): Step[] {
  return [
    ['openat', AT_FDCWD, path, O_WRONLY_CLOEXEC],
    ['write', LAST_RESULT, text, text.length],
  ];
}

function tableEntry(words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(ENTRY_WORDS * WORD_BYTES);
  for (const [index, word] of words.entries()) bytes.writeBigInt64LE(BigInt(word), index * WORD_BYTES);
  return bytes;
}

/** What arguments point to, behind the table. */
class DataSection {
  readonly #parts: Buffer[] = [];
  #end: number;

  constructor(address: number) {
    this.#end = address;
  }

  addressOf(argument: Argument): number {
    if (typeof argument === 'number') return argument;
    if (typeof argument === 'string') return this.#add(Buffer.from(`${argument}\0`));
    const { instructions } = argument;
    const place = this.#add(instructions);
    // How many there are, and where: struct sock_fprog.
    const description = Buffer.alloc(2 * WORD_BYTES);
    description.writeUInt16LE(instructions.length / 8, 0);
    description.writeBigUInt64LE(BigInt(place), WORD_BYTES);
    return this.#add(description);
  }

  content(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(bytes: Buffer): number {
    const address = this.#end;
    const padding = Buffer.alloc(-bytes.length & (WORD_BYTES - 1));
    this.#parts.push(bytes, padding);
    this.#end += bytes.length + padding.length;
    return address;
  }
}
