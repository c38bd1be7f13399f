/**
 * The program of all keepers: it starts processes on request and reports their ends, and nothing else. A request names the
 * table that the new process runs.
 *
 *   loop:    wait for a request or the end of a child
 *   reap:    report every child that has ended
 *   accept:  start a process for every request; end when nobody can send one any more
 *   child:   the new process loads its table from the exchange directory and runs it
 *
 * The server starts it once, as the first process of a sandbox. That one makes a keeper for each slot (keeper-table.ts).
 */
import type { Architecture } from '../isolation/entry/call-numbers.ts';
import { callTable, jump, type Step, Word, words } from '../isolation/entry/call-table.ts';
import { CONTENT_ADDRESS, executable } from '../isolation/entry/executable.ts';
import { machineCode } from '../isolation/entry/machine-code.ts';
import {
  begunSteps,
  EXCHANGE,
  KINDS,
  REFUSAL,
  REPORT,
  REPORT_BYTES,
  REPORTS,
  REQUEST_BYTES,
  REQUESTED,
  REQUESTS,
  SIGNALS,
  TABLE_ADDRESS,
  TABLE_BYTES_MAX,
  TABLE_FILE,
  WORDS,
} from './layout.ts';

/** The descriptors with which the server starts it. */
const [INPUT, OUTPUT, DIRECTORY] = [0, 1, 3];

const O_CLOEXEC = 0o2000000;
const O_NONBLOCK = 0o4000;
const O_RDWR = 2;
const AT_FDCWD = -100;
const F_SETFL = 4;
const SIG_BLOCK = 0;
/** A set of signals with SIGCHLD, which is number 17, and its size. */
const CHILD_SIGNAL = [words([1 << 16]), 8] as const;
const WNOHANG = 1;
const ANY_CHILD = -1;
const POLL_IN = 1;
const SIGNAL_BYTES = 128;

const started = WORDS + 0x100;
const ended = WORDS + 0x200;
const signal = WORDS + 0x300;
const polled = WORDS + 0x400;
const opened = new Word(WORDS + 0x440);

const set = (word: Word, value: number | Word): Step => [
  'subtract',
  [value, 0],
  { to: word, ifNegative: 'end' },
];
const pollWord = (fd: number) => POLL_IN * 2 ** 32 + fd;

export interface KeeperProgram {
  bytes: Buffer;
  /** The address of the step at which a keeper begins its work. */
  loop: number;
}

/** `prepare`: the steps that the first keeper takes before anything else. */
export function keeperProgram(prepare: readonly Step[], architecture: Architecture): KeeperProgram {
  const steps: Step[] = [
    set(new Word(REFUSAL + REPORT.kind), KINDS.refused),
    ['dup3', [INPUT, REQUESTS, O_CLOEXEC]],
    ['dup3', [OUTPUT, REPORTS, O_CLOEXEC]],
    ['dup3', [DIRECTORY, EXCHANGE, O_CLOEXEC]],
    // The numbers stay taken, so that no file that is opened later gets one of them by chance.
    ['openat', [AT_FDCWD, '/dev/null', O_RDWR], { to: opened }],
    ...[INPUT, OUTPUT, DIRECTORY].map((fd): Step => ['dup3', [opened, fd]]),
    ['close', [opened]],
    ['fcntl', [REQUESTS, F_SETFL, O_NONBLOCK]],
    ['rt_sigprocmask', [SIG_BLOCK, CHILD_SIGNAL[0], 0, CHILD_SIGNAL[1]]],
    ['signalfd4', [-1, ...CHILD_SIGNAL, O_NONBLOCK], { to: opened }],
    ['dup3', [opened, SIGNALS, O_CLOEXEC]],
    ['close', [opened]],
    ...prepare,
    set(new Word(started + REPORT.kind), KINDS.started),
    set(new Word(ended + REPORT.kind), KINDS.ended),
    set(new Word(polled), pollWord(REQUESTS)),
    set(new Word(polled + 8), pollWord(SIGNALS)),
    ...begunSteps(),

    ['ppoll', [polled, 2], { label: 'loop', ifNegative: 'loop' }],
    ['read', [SIGNALS, signal, SIGNAL_BYTES], { ifNegative: 'reap' }],

    [
      'wait4',
      [ANY_CHILD, ended + REPORT.one, WNOHANG, ended + REPORT.usage],
      { label: 'reap', to: new Word(ended + REPORT.id), ifNegative: 'accept', ifZero: 'accept' },
    ],
    ['write', [REPORTS, ended, REPORT_BYTES], { ifNegative: 'end', ifPositive: 'reap' }],

    [
      'read',
      [REQUESTS, REQUESTED.flags.address, REQUEST_BYTES],
      { label: 'accept', ifNegative: 'loop', ifZero: 'end' },
    ],
    [
      'clone',
      [REQUESTED.flags],
      { to: new Word(started + REPORT.one), ifZero: 'child', ifNegative: 'started' },
    ],
    [
      'subtract',
      [REQUESTED.id, 0],
      { label: 'started', to: new Word(started + REPORT.id), ifNegative: 'end' },
    ],
    ['write', [REPORTS, started, REPORT_BYTES], { ifNegative: 'end', ifPositive: 'accept' }],

    ['subtract', [REQUESTED.id, 0], { label: 'child', to: new Word(REFUSAL + REPORT.id), ifNegative: 'end' }],
    ['openat', [EXCHANGE, REQUESTED.table, O_CLOEXEC], { to: opened }],
    ['dup3', [opened, TABLE_FILE, O_CLOEXEC]],
    ['close', [opened]],
    ['read', [TABLE_FILE, TABLE_ADDRESS, REQUESTED.tableBytes]],
    jump(TABLE_ADDRESS),

    ['write', [REPORTS, REFUSAL, REPORT_BYTES], { label: 'refused', ifNegative: 'end' }],
    ['exit_group', [1], { label: 'end' }],
  ];
  const code = machineCode(architecture);
  const { bytes, addressOf } = callTable(steps, CONTENT_ADDRESS + code.length, architecture);
  return {
    bytes: executable(Buffer.concat([code, bytes]), architecture, TABLE_BYTES_MAX),
    loop: addressOf('loop'),
  };
}
