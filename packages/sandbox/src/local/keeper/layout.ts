/**
 * The agreements between the server and a keeper: descriptors, the memory of the program, and the messages between them.
 *
 *   request   the server asks a process to start another, which runs the table in a file of the exchange directory; the
 *             names of other files are for the steps of that table
 *   report    what became of it: `started`, `begun` (the command itself), `refused` (a step failed), `ended`
 *
 * Both have a fixed length below that up to which the kernel writes to a pipe as a whole, so several processes may report
 * through one pipe.
 */
import { FREE_MEMORY, STATE, type Step, Word, words } from '../isolation/entry/call-table.ts';

export const REQUESTS = 10;
export const REPORTS = 11;
/** The directory with the pipes and tables. */
export const EXCHANGE = 12;
export const SIGNALS = 13;
/** The file with the table. */
export const TABLE_FILE = 14;

/** Words of the loop, of keepers and of commands. */
export const WORDS = FREE_MEMORY + 0x400;
/** The address of the table that a process was started for. */
export const TABLE_ADDRESS = 0x610000;
export const TABLE_BYTES_MAX = 0x100000;

const NAME_BYTES = 24;
/** Places in a request. */
const AT = {
  flags: 0,
  id: 8,
  tableBytes: 16,
  table: 24,
  script: 48,
  output: 72,
  input: 96,
  errors: 120,
} as const;
export const REQUEST_BYTES = AT.errors + NAME_BYTES;

/** The words of the request that a process was started for, and the addresses of its names. */
export const REQUESTED = {
  flags: new Word(WORDS + AT.flags),
  id: new Word(WORDS + AT.id),
  tableBytes: new Word(WORDS + AT.tableBytes),
  table: WORDS + AT.table,
  script: WORDS + AT.script,
  output: WORDS + AT.output,
  input: WORDS + AT.input,
  errors: WORDS + AT.errors,
} as const;

const RUSAGE_BYTES = 144;
const RUSAGE_OUT_BLOCKS = 96;
const BLOCK_BYTES = 512;
export const REPORT_BYTES = 32 + RUSAGE_BYTES;
/** Places in a report. */
export const REPORT = { kind: 0, id: 8, one: 16, other: 24, usage: 32 } as const;
export const KINDS = { started: 1, begun: 2, refused: 3, ended: 4 } as const;

/** The state of a program has the form of a report about its request: if a step is refused, the program only has to write it. */
export const REFUSAL = STATE;

export interface Request {
  /** The flags of clone(2). */
  flags: number;
  id: number;
  tableBytes: number;
  /** A file of the exchange directory, as the following. */
  table: string;
  script?: string | undefined;
  output?: string | undefined;
  input?: string | undefined;
  errors?: string | undefined;
}

export type Report =
  /** In the order of the requests; `pid` as the keeper sees it, or negative if none could be started. */
  | { kind: 'started'; id: number; pid: number }
  | { kind: 'begun'; id: number }
  /** `step` is the address of the step that failed. */
  | { kind: 'refused'; id: number; step: number; errno: number }
  | { kind: 'ended'; pid: number; status: number; writtenBytes: number };

export function encodeRequest({ flags, id, tableBytes, ...names }: Request): Buffer {
  const request = Buffer.alloc(REQUEST_BYTES);
  words([flags, id, tableBytes]).copy(request);
  for (const place of ['table', 'script', 'output', 'input', 'errors'] as const) {
    const name = names[place] ?? '';
    if (name.length >= NAME_BYTES) throw new Error(`the name ${name} is too long`);
    request.write(name, AT[place], 'latin1');
  }
  return request;
}

export function decodeReport(bytes: Buffer): Report {
  const word = (at: number) => Number(bytes.readBigInt64LE(at));
  const [kind, id, one, other] = [REPORT.kind, REPORT.id, REPORT.one, REPORT.other].map(word) as [
    number,
    number,
    number,
    number,
  ];
  switch (kind) {
    case KINDS.started:
      return { kind: 'started', id, pid: one };
    case KINDS.begun:
      return { kind: 'begun', id };
    case KINDS.refused:
      return { kind: 'refused', id, step: one, errno: -other };
    case KINDS.ended:
      return {
        kind: 'ended',
        pid: id,
        status: one,
        writtenBytes: word(REPORT.usage + RUSAGE_OUT_BLOCKS) * BLOCK_BYTES,
      };
    default:
      throw new Error(`a keeper sent a report of kind ${kind}`);
  }
}

/** Reports that the requested command has begun. */
export function begunSteps(): Step[] {
  const kind = new Word(REFUSAL + REPORT.kind);
  return [
    ['subtract', [KINDS.begun, 0], { to: kind }],
    ['write', [REPORTS, REFUSAL, REPORT_BYTES]],
    ['subtract', [KINDS.refused, 0], { to: kind }],
  ];
}
