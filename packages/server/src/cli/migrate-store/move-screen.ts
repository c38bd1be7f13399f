/** The progress of a move: a bar on a terminal; elsewhere a line for each phase, and some in a long one. */
import type { MoveProgress } from '../../journal/moving/move-store.ts';
import { LiveScreen } from '../screen/live-screen.ts';
import { ProgressBar } from '../screen/progress-bar.ts';
import type { Output } from '../terminal.ts';

const LINE_EVERY_MS = 10_000;

/** What a bar counts. */
const DONE = { copying: 'rows copied', comparing: 'rows compared' } as const;

export class MoveScreen implements Disposable {
  readonly #output: Output;
  readonly #live: LiveScreen | undefined;
  #bar: ProgressBar | undefined;
  #last: MoveProgress | undefined;
  #lineAt = 0;

  constructor(output: Output) {
    this.#output = output;
    this.#live = output.canRedraw ? new LiveScreen(output) : undefined;
  }

  /** Such as `copying, 40%`; undefined before anything was moved. */
  get reached(): string | undefined {
    return this.#last && `${this.#last.phase}, ${this.#bar?.percent ?? 0}%`;
  }

  show(progress: MoveProgress): void {
    const { phase, rows, totalRows } = progress;
    const begins = this.#last?.phase !== phase;
    if (begins) this.#bar = new ProgressBar(DONE[phase], totalRows, rows, String);
    else this.#bar!.add(rows - this.#last!.rows);
    this.#last = progress;
    if (this.#live !== undefined) {
      const bar = this.#bar!;
      this.#live.setFooter((columns) => [bar.row(columns, this.#output.style)]);
    } else if (begins || Date.now() - this.#lineAt >= LINE_EVERY_MS) {
      this.#lineAt = Date.now();
      this.#output.write(`${this.reached}: ${rows} of ${totalRows} rows\n`);
    }
  }

  [Symbol.dispose](): void {
    this.#live?.[Symbol.dispose]();
  }
}
