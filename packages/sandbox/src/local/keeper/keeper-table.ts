/**
 * How a process becomes the keeper of one slot: it takes requests through pipes of its own and, unless commands have the
 * network of the host, makes a network with a loopback and nothing else. Its commands inherit that network, and the
 * control groups that the server puts the keeper in.
 */
import { jump, type Step, Word } from '../isolation/entry/call-table.ts';
import {
  begunSteps,
  EXCHANGE,
  REFUSAL,
  REPORT_BYTES,
  REPORTS,
  REQUESTED,
  REQUESTS,
  TABLE_FILE,
  WORDS,
} from './layout.ts';

const O_CLOEXEC = 0o2000000;
const O_NONBLOCK = 0o4000;
const O_WRONLY = 1;
const CLONE_NEWNET = 0x40000000;
const AF_INET = 2;
const SOCK_DGRAM = 2;
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
const NAME_BYTES = 16;

const opened = new Word(WORDS + 0x600);

export interface KeeperPlan {
  ownNetwork: boolean;
  /** The address of the step at which a keeper begins its work. */
  loop: number;
}

/** Its request names the pipe for reports as the output, and that for requests as the input. */
export function keeperSteps({ ownNetwork, loop }: KeeperPlan): Step[] {
  return [
    // Sees the end of the requests when the server closes them.
    ['openat', [EXCHANGE, REQUESTED.input, O_NONBLOCK], { to: opened }],
    ['dup3', [opened, REQUESTS, O_CLOEXEC]],
    ['close', [opened]],
    ['openat', [EXCHANGE, REQUESTED.output, O_WRONLY], { to: opened }],
    ['dup3', [opened, REPORTS, O_CLOEXEC]],
    ['close', [opened]],
    ['close', [TABLE_FILE]],
    ['setsid'],
    ...(ownNetwork ? networkSteps() : []),
    ...begunSteps(),
    jump(loop),
    ['write', [REPORTS, REFUSAL, REPORT_BYTES], { label: 'refused', ifNegative: 'end' }],
    ['exit_group', [1], { label: 'end' }],
  ];
}

/** A network with a loopback and nothing else, for this process and its children. A new network has a loopback that is down. */
export function networkSteps(): Step[] {
  const loopbackUp = Buffer.alloc(40);
  loopbackUp.write('lo');
  loopbackUp.writeUInt16LE(IFF_UP, NAME_BYTES);
  return [
    ['unshare', [CLONE_NEWNET]],
    ['socket', [AF_INET, SOCK_DGRAM | O_CLOEXEC], { to: opened }],
    ['ioctl', [opened, SIOCSIFFLAGS, loopbackUp]],
    ['close', [opened]],
  ];
}
