/**
 * A program that gives a command a terminal: it makes a pair of pseudo terminals, starts the command on one side, and copies
 * between the other side and its own pipes. It is written here for the same reason as the entry programs: no shell can make
 * these calls, and the programs that can (script, python) are missing on many machines.
 *
 *   copier    copies what is printed to the output, until the command has ended and nothing is left to copy; ends with its code.
 *             It does not wait for the terminal to be gone: what runs on in the background keeps that open.
 *   typist    a child that copies the input to the terminal, until the input ends
 *   command   the leader of a session of its own, on the other side of the terminal
 *
 * The input begins with the size of the terminal, as the kernel takes it (`windowSize`). Its arguments are the command.
 */
import type { Architecture } from '../isolation/entry/call-numbers.ts';
import {
  ARGUMENTS,
  callTable,
  ENVIRONMENT,
  FIRST_ARGUMENT,
  FREE_MEMORY,
  type Step,
  Word,
  words,
} from '../isolation/entry/call-table.ts';
import { CONTENT_ADDRESS, executable } from '../isolation/entry/executable.ts';
import { machineCode } from '../isolation/entry/machine-code.ts';

const AT_FDCWD = -100;
const O_RDWR = 2;
const O_NOCTTY = 0o400;
const SIGCHLD = 17;
const TIOCSCTTY = 0x540e;
const TIOCSWINSZ = 0x5414;
const TIOCGPTN = 0x80045430;
const TIOCSPTLCK = 0x40045431;
const TIOCGPTPEER = 0x5441;
const [INPUT, OUTPUT, ERRORS] = [0, 1, 2];
const SIGNALLED = 128;
const CODE_UNIT = 256;
const FAILED_CODE = 125;
const MESSAGE = 'sandbox: a terminal could not be made here.\n';

const word = (at: number) => new Word(FREE_MEMORY + at);
const [main, other, command, typist, status, code, signals, isReadable, isSignalled] = [
  ...[0, 8, 16, 24, 32, 48, 56, 160, 168],
].map(word) as [Word, Word, Word, Word, Word, Word, Word, Word, Word];
const size = FREE_MEMORY + 64;
/** Whether there is something to read: of the terminal, and of signals. */
const polled = FREE_MEMORY + 176;
const patience = FREE_MEMORY + 192;
/** The number of the other side. The byte before it stays zero, so the word from there on is the number times 256. */
const number = FREE_MEMORY + 96;
const path = FREE_MEMORY + 128;
const buffer = FREE_MEMORY + 256;
const BUFFER_BYTES = 0x4000;
const O_NONBLOCK = 0o4000;
const SIG_BLOCK = 0;
const SIG_SETMASK = 2;
const WNOHANG = 1;
const POLL_IN = 2 ** 32;
/** What the command printed last may take a moment through the kernel. */
const LAST_NS = 50_000_000;
/** A set of signals with SIGCHLD, which is number 17, and its size. */
const CHILD_SIGNAL = [words([1 << 16]), 8] as const;
const SIZE_BYTES = 8;

/** `/dev`, `/pts` and `/0` as numbers. */
const [DEV, PTS, SLASH_ZERO] = ['/dev', '/pts', '/0'].map((text) =>
  [...text].reduceRight((sum, letter) => sum * 256 + letter.charCodeAt(0), 0),
) as [number, number, number];

/** The sum of a word, or a number, and a number. */
const set = (to: Word, value: Word | number, more = 0, label?: string): Step => [
  'subtract',
  [value, -more],
  { to, ifNegative: 'refused', ...(label && { label }) },
];

export function terminalProgram(architecture: Architecture): Buffer {
  const steps: Step[] = [
    ['openat', [AT_FDCWD, '/dev/ptmx', O_RDWR + O_NOCTTY], { to: main }],
    ['ioctl', [main, TIOCSPTLCK, Buffer.alloc(4)]],
    ['ioctl', [main, TIOCGPTPEER, O_RDWR + O_NOCTTY], { to: other, ifNegative: 'by name' }],
    ['read', [INPUT, size, SIZE_BYTES], { label: 'ready', ifZero: 'refused' }],
    ['ioctl', [main, TIOCSWINSZ, size]],
    ['rt_sigprocmask', [SIG_BLOCK, CHILD_SIGNAL[0], 0, CHILD_SIGNAL[1]]],
    ['signalfd4', [-1, ...CHILD_SIGNAL, O_NONBLOCK], { to: signals }],
    ['clone', [SIGCHLD], { to: command, ifZero: 'command' }],
    ['close', [other]],
    ['clone', [SIGCHLD], { to: typist, ifZero: 'typist' }],
    set(isReadable, main, POLL_IN),
    set(isSignalled, signals, POLL_IN),

    set(new Word(polled), isReadable, 0, 'copier'),
    set(new Word(polled + 8), isSignalled),
    ['ppoll', [polled, 2], { ifNegative: 'copier' }],
    // The kernel has added to the word if there is something.
    ['subtract', [new Word(polled), isReadable], { ifZero: 'reap', ifNegative: 'end' }],
    ['read', [main, buffer, BUFFER_BYTES], { to: code, ifNegative: 'end', ifZero: 'end' }],
    ['write', [OUTPUT, buffer, code], { ifNegative: 'end', ifZero: 'copier', ifPositive: 'copier' }],
    ['read', [signals, buffer, BUFFER_BYTES], { label: 'reap', ifNegative: 'copier' }],
    ['wait4', [command, status.address, WNOHANG], { ifZero: 'copier', ifNegative: 'refused' }],

    set(new Word(polled), isReadable, 0, 'last'),
    set(new Word(patience), 0),
    set(new Word(patience + 8), LAST_NS),
    ['ppoll', [polled, 1, patience], { ifNegative: 'code', ifZero: 'code' }],
    ['read', [main, buffer, BUFFER_BYTES], { to: code, ifNegative: 'code', ifZero: 'code' }],
    ['write', [OUTPUT, buffer, code], { ifNegative: 'code', ifZero: 'last', ifPositive: 'last' }],

    ['wait4', [command, status.address], { label: 'end' }],
    ['subtract', [status, 0], { label: 'code', to: code, ifZero: 'exit', ifNegative: 'refused' }],
    ['subtract', [status, CODE_UNIT], { ifNegative: 'signalled' }],
    // The exit code is the second byte of the status.
    ['exit_group', [new Word(status.address + 1)]],
    ['subtract', [status, -SIGNALLED], { label: 'signalled', to: code, ifNegative: 'refused' }],
    ['exit_group', [code], { label: 'exit' }],

    [
      'read',
      [INPUT, buffer, BUFFER_BYTES],
      { label: 'typist', to: code, ifNegative: 'exit', ifZero: 'exit' },
    ],
    ['write', [main, buffer, code], { ifNegative: 'exit', ifZero: 'typist', ifPositive: 'typist' }],

    ['setsid', [], { label: 'command' }],
    ['ioctl', [other, TIOCSCTTY]],
    ['rt_sigprocmask', [SIG_SETMASK, words([0]), 0, 8]],
    ...[INPUT, OUTPUT, ERRORS].map((fd): Step => ['dup3', [other, fd]]),
    ['close', [other]],
    ['close', [main]],
    ['execve', [FIRST_ARGUMENT, ARGUMENTS, ENVIRONMENT]],

    // Kernels of sandboxes may know the other side only by its name.
    ['ioctl', [main, TIOCGPTN, number], { label: 'by name' }],
    ['subtract', [DEV, 0], { to: new Word(path) }],
    ['subtract', [PTS, 0], { to: new Word(path + 4) }],
    ['subtract', [new Word(number - 1), -SLASH_ZERO], { to: new Word(path + 8) }],
    ['openat', [AT_FDCWD, path, O_RDWR + O_NOCTTY], { to: other, ifZero: 'ready', ifPositive: 'ready' }],

    ['write', [ERRORS, MESSAGE, MESSAGE.length], { label: 'refused', ifNegative: 'failed' }],
    ['exit_group', [FAILED_CODE], { label: 'failed' }],
  ];
  const machine = machineCode(architecture);
  const { bytes } = callTable(steps, CONTENT_ADDRESS + machine.length, architecture);
  return executable(Buffer.concat([machine, bytes]), architecture);
}

/** The first bytes of its input. */
export function windowSize({ columns, rows }: { columns: number; rows: number }): Buffer {
  const bytes = Buffer.alloc(SIZE_BYTES);
  bytes.writeUInt16LE(rows, 0);
  bytes.writeUInt16LE(columns, 2);
  return bytes;
}
