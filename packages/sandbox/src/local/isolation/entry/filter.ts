/**
 * The filter that the kernel runs for every system call of a command: a program for its packet filter machine (seccomp,
 * classic BPF), built from the table of forbidden calls and a few rules about arguments.
 *
 * The kernel passes it the number of the call, its architecture, and its arguments. A call for another architecture has
 * other numbers, so its process is killed: 32-bit programs, and on x86-64 x32 programs. Calls that are decided by their
 * number alone cost next to nothing: the kernel caches the answer.
 */
import { FORBIDDEN_CALLS, NAMESPACE_CALLS, SOCKET_FAMILIES } from '../../../system-calls.ts';
import { type Architecture, type CallName, callNumber } from './call-numbers.ts';

const AUDIT_ARCHITECTURE = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** Set in the number of every x32 call. */
const X32_BIT = 0x40000000;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 1;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;
const refuse = (errno: number) => 0x00050000 | errno;

/** Every new namespace that clone(2) can be asked for. */
const CLONE_NAMESPACES = 0x7e020000;
/** Docker allows these: PER_LINUX, PER_LINUX32, UNAME26, the last two together, and the query for the current one. */
const PERSONALITIES = [0, 0x8, 0x20000, 0x20008, 0xffffffff];
/** FALLOC_FL_PUNCH_HOLE with FALLOC_FL_KEEP_SIZE, which gives space back. */
const PUNCH_HOLE = 3;
/** FS_IOC_RESVSP, FS_IOC_RESVSP64 and FS_IOC_ZERO_RANGE: fallocate by another name. */
const RESERVING_IOCTLS = [0x40305828, 0x4030582a, 0x40305839];
/** TIOCSTI and TIOCLINUX, which type into a terminal. */
const TYPING_IOCTLS = [0x5412, 0x541c];

/** Tests of one argument; the kernel compares 32 bits of it. `otherwise` applies if no test matches. */
interface ArgumentRule {
  call: CallName;
  argument: number;
  tests: readonly { op: 'equals' | 'hasAnyBitOf'; value: number; verdict: number }[];
  otherwise: number;
}

const equalsAny = (values: readonly number[], verdict: number) =>
  values.map((value) => ({ op: 'equals' as const, value, verdict }));

const ARGUMENT_RULES: readonly ArgumentRule[] = [
  {
    call: 'clone',
    argument: 0,
    tests: [{ op: 'hasAnyBitOf', value: CLONE_NAMESPACES, verdict: refuse(EPERM) }],
    otherwise: ALLOW,
  },
  { call: 'socket', argument: 0, tests: equalsAny(SOCKET_FAMILIES, ALLOW), otherwise: refuse(EAFNOSUPPORT) },
  { call: 'personality', argument: 0, tests: equalsAny(PERSONALITIES, ALLOW), otherwise: refuse(EPERM) },
  // Space that is reserved without a write counts at once, past the limit on a file's size. Programs get the error that
  // many file systems give, and write instead.
  { call: 'fallocate', argument: 1, tests: equalsAny([PUNCH_HOLE], ALLOW), otherwise: refuse(EOPNOTSUPP) },
  {
    call: 'ioctl',
    argument: 1,
    tests: [...equalsAny(RESERVING_IOCTLS, refuse(EOPNOTSUPP)), ...equalsAny(TYPING_IOCTLS, refuse(EPERM))],
    otherwise: ALLOW,
  },
];

/** Its flags are in memory, which a filter cannot read; without it programs use clone(2). */
const UNREADABLE_CALLS = ['clone3'] as const;

/** Opcodes: load a word, jump if equal, greater or equal, or sharing a bit, and return. */
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_EQUAL = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

/** The offsets of the fields that a filter can load. The lower half of an argument comes first. */
const CALL_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const argumentOffset = (index: number) => 16 + 8 * index;

interface Instruction {
  code: number;
  /** How many instructions to skip if the condition holds, and if not. */
  ifTrue?: number;
  ifFalse?: number;
  value: number;
}

export function seccompFilter(architecture: Architecture): Buffer {
  return Buffer.concat(instructionsFor(architecture).map(encode));
}

function instructionsFor(architecture: Architecture): Instruction[] {
  const refused = (names: readonly CallName[], verdict: number) =>
    names
      .map((name) => callNumber(name, architecture))
      .filter((number) => number !== undefined)
      .flatMap((number) => returnIf(JUMP_EQUAL, number, verdict));
  return [
    load(ARCHITECTURE_OFFSET),
    ...returnUnless(JUMP_EQUAL, AUDIT_ARCHITECTURE[architecture], KILL_PROCESS),
    load(CALL_OFFSET),
    ...(architecture === 'x64' ? returnIf(JUMP_GREATER_EQUAL, X32_BIT, KILL_PROCESS) : []),
    ...refused([...FORBIDDEN_CALLS, ...NAMESPACE_CALLS], refuse(EPERM)),
    ...refused(UNREADABLE_CALLS, refuse(ENOSYS)),
    ...ARGUMENT_RULES.flatMap((rule) => argumentRule(rule, architecture)),
    returned(ALLOW),
  ];
}

function argumentRule({ call, argument, tests, otherwise }: ArgumentRule, architecture: Architecture) {
  const number = callNumber(call, architecture);
  if (number === undefined) return [];
  const body = [
    load(argumentOffset(argument)),
    ...tests.flatMap(({ op, value, verdict }) =>
      returnIf(op === 'equals' ? JUMP_EQUAL : JUMP_ANY_BIT, value, verdict),
    ),
    returned(otherwise),
  ];
  return [{ code: JUMP_EQUAL, ifFalse: body.length, value: number }, ...body];
}

function load(offset: number): Instruction {
  return { code: LOAD, value: offset };
}

function returned(verdict: number): Instruction {
  return { code: RETURN, value: verdict };
}

function returnIf(code: number, value: number, verdict: number): Instruction[] {
  return [{ code, ifFalse: 1, value }, returned(verdict)];
}

function returnUnless(code: number, value: number, verdict: number): Instruction[] {
  return [{ code, ifTrue: 1, value }, returned(verdict)];
}

function encode({ code, ifTrue = 0, ifFalse = 0, value }: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
