/**
 * The server's end of a keeper: sends requests and hands each report to the process that it is about. When the keeper is
 * gone, the processes that it had started are lost: nobody can say any more how they ended.
 */
import type { Readable } from 'node:stream';
import { decodeReport, encodeRequest, REPORT_BYTES, type Report, type Request } from './layout.ts';

/** The reports about a process that the server asked for. */
export interface KeptProcess {
  readonly request: Omit<Request, 'id'>;
  /** `pid` as the keeper sees it. */
  onStarted(pid: number): void;
  onBegun(): void;
  /** A step of its table failed, or it could not be started at all. */
  onRefused(errno: number, step?: number): void;
  /** `status` as wait(2) returns it. */
  onEnded(status: number, writtenBytes: number): void;
  onLost(): void;
}

let lastId = 0;

/** Never used before in this process. */
export function nextId(): number {
  lastId += 1;
  return lastId;
}

export class KeeperLink {
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
  readonly #send: (request: Buffer) => void;
  readonly #byId = new Map<number, KeptProcess>();
  readonly #byPid = new Map<number, { id: number; process: KeptProcess }>();
  #unread = Buffer.alloc(0);
  #isGone = false;

  /** The first report, before any request, has the id 0 or that of the keeper; `onReady` is called with it. */
  constructor(reports: Readable, send: (request: Buffer) => void, onReady: (report: Report) => void) {
    this.#send = send;
    let isReady = false;
    reports.on('data', (chunk: Buffer) => {
      for (const report of this.#split(chunk)) {
        if (isReady) this.#dispatch(report);
        else onReady(report);
        isReady = true;
      }
    });
    // A broken pipe counts as a pipe at its end.
    reports.on('error', () => {});
    this.gone = new Promise((resolve) => {
      reports.once('close', () => {
        this.#lose();
        resolve();
      });
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  start(id: number, process: KeptProcess): void {
    if (this.#isGone) {
      process.onLost();
      return;
    }
    this.#byId.set(id, process);
    this.#send(encodeRequest({ ...process.request, id }));
  }

  *#split(chunk: Buffer): Iterable<Report> {
    let rest = this.#unread.length > 0 ? Buffer.concat([this.#unread, chunk]) : chunk;
    for (; rest.length >= REPORT_BYTES; rest = rest.subarray(REPORT_BYTES)) {
      yield decodeReport(rest.subarray(0, REPORT_BYTES));
    }
    // A copy, because the memory of a chunk may be used again.
    this.#unread = Buffer.from(rest);
  }

  #dispatch(report: Report): void {
    if (report.kind === 'ended') {
      const ended = this.#byPid.get(report.pid);
      if (!ended) return;
      this.#byPid.delete(report.pid);
      this.#byId.delete(ended.id);
      ended.process.onEnded(report.status, report.writtenBytes);
      return;
    }
    const process = this.#byId.get(report.id);
    if (!process) return;
    if (report.kind === 'begun') process.onBegun();
    else if (report.kind === 'refused') process.onRefused(report.errno, report.step);
    else this.#note(report.id, report.pid, process);
  }

  #note(id: number, pid: number, process: KeptProcess): void {
    if (pid > 0) {
      this.#byPid.set(pid, { id, process });
      process.onStarted(pid);
    } else {
      this.#byId.delete(id);
      process.onRefused(-pid);
    }
  }

  #lose(): void {
    this.#isGone = true;
    for (const process of this.#byId.values()) process.onLost();
    this.#byId.clear();
    this.#byPid.clear();
  }
}
