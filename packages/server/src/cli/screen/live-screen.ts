/**
 * A screen on a terminal. Lines scroll away as usual; the footer is wiped before something is written and drawn again
 * below it.
 *
 * When the window becomes narrower, the terminal wraps rows of the footer: the number of rows to wipe depends on how
 * wide they were and how wide the window is now.
 */
import { stripVTControlCharacters } from 'node:util';
import type { Output } from '../terminal.ts';
import { widthOf } from '../text/width.ts';
import type { Footer, Screen } from './screen.ts';

/** For animations and counters in the footer. */
const REFRESH_MS = 100;

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const CLEAR_BELOW = '\r\x1b[J';

export class LiveScreen implements Screen {
  readonly live = true;
  readonly #output: Output;
  readonly #resources = new DisposableStack();
  #footer: Footer = () => [];
  /** The rows that are drawn. */
  #drawn: readonly string[] = [];
  #drawnColumns = 0;
  #midLine = false;

  constructor(output: Output) {
    this.#output = output;
    const timer = setInterval(() => this.refresh(), REFRESH_MS).unref();
    this.#resources.defer(() => clearInterval(timer));
    this.#resources.use(output.onResize(() => this.refresh()));
    // However the process ends, the terminal gets its cursor back.
    this.#resources.use(onProcess('exit', () => this.#output.write(this.#wiped())));
    const quitting = onProcess('SIGQUIT', () => {
      this.#output.write(this.#wiped());
      quitting[Symbol.dispose]();
      process.kill(process.pid, 'SIGQUIT');
    });
    this.#resources.use(quitting);
    // So does the shell that takes over while it is stopped.
    this.#resources.use(
      onProcess('SIGTSTP', () => {
        this.#output.write(this.#wiped());
        process.kill(process.pid, 'SIGSTOP');
      }),
    );
    // After a stop without a warning, the shell has written below the footer: that footer stays.
    this.#resources.use(
      onProcess('SIGCONT', () => {
        this.#drawn = [];
        this.refresh();
      }),
    );
  }

  get columns(): number {
    return this.#output.columns;
  }

  text(text: string): void {
    if (text === '') return;
    const wiped = this.#wiped();
    this.#midLine = !text.endsWith('\n');
    this.#output.write(wiped + text + this.#drawnFooter());
  }

  endText(): void {
    if (this.#midLine) this.text('\n');
  }

  line(text: string): void {
    this.endText();
    this.text(`${text}\n`);
  }

  setFooter(footer: Footer): void {
    this.#footer = footer;
    this.refresh();
  }

  refresh(): void {
    const rows = this.#rows();
    const same = rows.length === this.#drawn.length && rows.every((row, index) => row === this.#drawn[index]);
    if (same && this.#drawnColumns === this.columns) return;
    this.#output.write(this.#wiped() + this.#drawnFooter(rows));
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
    this.setFooter(() => []);
    this.endText();
  }

  /** Moves the cursor to where the footer began. */
  #wiped(): string {
    if (this.#drawn.length === 0) return '';
    const rows = this.#drawn.reduce((sum, row) => sum + this.#heightOf(row), 0);
    this.#drawn = [];
    return `${rows > 1 ? `\x1b[${rows - 1}A` : ''}${CLEAR_BELOW}${SHOW_CURSOR}`;
  }

  #drawnFooter(rows = this.#rows()): string {
    this.#drawn = rows;
    this.#drawnColumns = this.columns;
    return rows.length === 0 ? '' : HIDE_CURSOR + rows.join('\n');
  }

  /** The last rows of the footer that fit: rows beyond the screen could not be wiped, and the end matters most. */
  #rows(): readonly string[] {
    if (this.#midLine) return [];
    const { columns, rows } = this.#output;
    const shown: string[] = [];
    let height = 0;
    for (const row of this.#footer(columns).toReversed()) {
      height += this.#heightOf(row);
      if (height >= rows && shown.length > 0) break;
      shown.unshift(row);
    }
    return shown;
  }

  /** In rows of the window: the terminal wraps what is wider. */
  #heightOf(row: string): number {
    return Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(row)) / this.columns));
  }
}

function onProcess(name: 'exit' | 'SIGTSTP' | 'SIGCONT' | 'SIGQUIT', call: () => void): Disposable {
  process.on(name, call);
  return { [Symbol.dispose]: () => void process.off(name, call) };
}
