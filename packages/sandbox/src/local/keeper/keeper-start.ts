/** A keeper that is starting: first it reports through the keeper that starts it, and then through pipes of its own. */
import type { NamedPipe } from '../process/pipe-stock.ts';
import type { KeptProcess } from './keeper-link.ts';
import type { Report } from './layout.ts';
import type { TableFile } from './table-file.ts';

const SIGCHLD = 17;

export class KeeperStart implements KeptProcess {
  readonly request: KeptProcess['request'];
  /** Its pid, as the keeper that started it sees it. */
  readonly ready: Promise<number>;
  readonly #table: TableFile;
  readonly #onEnded: () => void;
  readonly #settle = Promise.withResolvers<number>();
  #pid: number | undefined;
  #hasBegun = false;

  /** It takes requests from one pipe and reports through the other. `onEnded` is called whenever it ends. */
  constructor(table: TableFile, requests: NamedPipe, reports: NamedPipe, onEnded: () => void) {
    this.request = {
      flags: SIGCHLD,
      tableBytes: table.bytes,
      table: table.name,
      input: requests.name,
      output: reports.name,
    };
    this.#table = table;
    this.#onEnded = onEnded;
    this.ready = this.#settle.promise;
  }

  /** The first report through its own pipe. */
  onReport(report: Report): void {
    if (report.kind === 'refused') this.onRefused(report.errno, report.step);
    this.#hasBegun = report.kind === 'begun';
    this.#check();
  }

  onStarted(pid: number): void {
    this.#pid = pid;
    this.#check();
  }

  onBegun(): void {}

  onRefused(errno: number, step?: number): void {
    this.#fail(this.#table.describeRefusal(errno, step));
  }

  onEnded(): void {
    this.#fail('it ended');
    this.#onEnded();
  }

  onLost(): void {
    this.#fail('the first keeper is gone');
  }

  #check(): void {
    if (this.#pid !== undefined && this.#hasBegun) this.#settle.resolve(this.#pid);
  }

  #fail(reason: string): void {
    this.#settle.reject(new Error(`a keeper could not be started: ${reason}`));
  }
}
