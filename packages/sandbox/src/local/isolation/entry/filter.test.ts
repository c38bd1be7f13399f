import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { FORBIDDEN_CALLS, NAMESPACE_CALLS } from '../../../system-calls.ts';
import { type Architecture, CALL_NAMES, type CallName, callNumber } from './call-numbers.ts';
import { seccompFilter } from './filter.ts';

const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const I386 = 0x40000003;
const ARM = 0x40000028;
const ALLOW = 'allow';
const HIGHEST_CALL = 1_000;

interface Call {
  number: number;
  architecture?: number;
  args?: readonly number[];
}

/** A model of the kernel's packet filter machine, as far as our filters use it. */
function judge(filter: Buffer, { number, architecture = 0, args = [] }: Call): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + 8 * index);
  let loaded = 0;
  for (let at = 0; ; at++) {
    const code = filter.readUInt16LE(8 * at);
    const value = filter.readUInt32LE(8 * at + 4);
    const jump = (holds: boolean) => filter.readUInt8(8 * at + (holds ? 2 : 3));
    if (code === 0x20) loaded = data.readUInt32LE(value);
    else if (code === 0x15) at += jump(loaded === value);
    else if (code === 0x35) at += jump(loaded >= value);
    else if (code === 0x45) at += jump((loaded & value) !== 0);
    else if (code === 0x06) return verdict(value);
    else throw new Error(`the machine does not know ${code}`);
  }
}

function verdict(value: number): string {
  if (value === 0x7fff0000) return ALLOW;
  if (value === 0x80000000) return 'kill';
  return `errno ${value & 0xffff}`;
}

describe.for(['x64', 'arm64'] as const)('on %s', (architecture) => {
  const filter = seccompFilter(architecture);
  const ask = (number: number, ...args: number[]) =>
    judge(filter, { number, architecture: AUDIT[architecture], args });
  const askFor = (name: CallName, ...args: number[]) =>
    ask(callNumber(name, architecture) as number, ...args);

  test('exactly the calls of the table are refused, whatever their arguments', () => {
    const refused = [...FORBIDDEN_CALLS, ...NAMESPACE_CALLS]
      .map((name) => callNumber(name, architecture))
      .filter((number) => number !== undefined);
    const byArgument = (['clone', 'clone3', 'socket', 'personality', 'fallocate', 'ioctl'] as const).map(
      (name) => callNumber(name, architecture),
    );
    for (let number = 0; number < HIGHEST_CALL; number++) {
      if (byArgument.includes(number)) continue;
      expect([number, ask(number)]).toEqual([number, refused.includes(number) ? 'errno 1' : ALLOW]);
    }
  });

  test('a call for another architecture ends its process', () => {
    for (const other of [I386, ARM, AUDIT[architecture === 'x64' ? 'arm64' : 'x64'], 0]) {
      expect(judge(filter, { number: 0, architecture: other })).toBe('kill');
    }
  });

  test('processes and threads can be made, namespaces cannot', () => {
    const [SIGCHLD, CLONE_THREAD_AND_ALL] = [17, 0x3d0f00];
    expect(askFor('clone', SIGCHLD)).toBe(ALLOW);
    expect(askFor('clone', CLONE_THREAD_AND_ALL)).toBe(ALLOW);
    for (const bit of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(askFor('clone', bit + SIGCHLD)).toBe('errno 1');
    }
    expect(askFor('clone3')).toBe('errno 38');
  });

  test('sockets are of the families that programs use', () => {
    const allowed = Array.from({ length: 64 }, (_, family) => family).filter(
      (family) => askFor('socket', family) === ALLOW,
    );
    expect(allowed).toEqual([1, 2, 10, 16]);
    expect(askFor('socket', 38)).toBe('errno 97');
  });

  test('space can be given back but not reserved', () => {
    const [KEEP_SIZE, PUNCH_HOLE] = [1, 2];
    expect(askFor('fallocate', 5, KEEP_SIZE + PUNCH_HOLE)).toBe(ALLOW);
    for (const mode of [0, KEEP_SIZE, 0x10, 0x40]) expect(askFor('fallocate', 5, mode)).toBe('errno 95');
    const FS_IOC_RESVSP64 = 0x4030582a;
    expect(askFor('ioctl', 5, FS_IOC_RESVSP64)).toBe('errno 95');
    // The kernel compares only the lower half.
    expect(askFor('ioctl', 5, 2 ** 32 + FS_IOC_RESVSP64)).toBe('errno 95');
  });

  test('a program cannot type into a terminal, and can ask it for its size', () => {
    const [TIOCSTI, TIOCGWINSZ] = [0x5412, 0x5413];
    expect(askFor('ioctl', 0, TIOCSTI)).toBe('errno 1');
    expect(askFor('ioctl', 0, TIOCGWINSZ)).toBe(ALLOW);
  });

  test('a program may read its personality, and not set one without random addresses', () => {
    expect(askFor('personality', 0xffffffff)).toBe(ALLOW);
    expect(askFor('personality', 0x40000)).toBe('errno 1');
  });
});

test('a call of the x32 kind ends its process', () => {
  const filter = seccompFilter('x64');
  expect(judge(filter, { number: 0x40000000 + 1, architecture: AUDIT.x64 })).toBe('kill');
});

test.for([
  ['x64', '/usr/include/x86_64-linux-gnu/asm/unistd_64.h'],
  ['arm64', '/usr/include/asm-generic/unistd.h'],
] as [Architecture, string][])(
  'the numbers for %s are those of the kernel',
  ([architecture, path], { skip }) => {
    if (!existsSync(path)) skip(`this machine has no ${path}`);
    const headers = [...readFileSync(path, 'utf8').matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm)];
    const numbers = new Map(headers.map(([, name, number]) => [name, Number(number)]));
    // Newer than the headers of most machines.
    const known = CALL_NAMES.filter((name) => name !== 'open_tree_attr' || numbers.has(name));
    expect(known.map((name) => [name, callNumber(name, architecture)])).toEqual(
      known.map((name) => [name, numbers.get(name)]),
    );
  },
);
