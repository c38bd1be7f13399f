/** A screen for files, pipes and terminals that cannot redraw: lines, and nothing that changes. */
import type { Output } from '../terminal.ts';
import type { Screen } from './screen.ts';

export class PlainScreen implements Screen {
  readonly live = false;
  readonly columns = Number.POSITIVE_INFINITY;
  readonly #output: Output;
  #midLine = false;

  constructor(output: Output) {
    this.#output = output;
  }

  text(text: string): void {
    if (text === '') return;
    this.#output.write(text);
    this.#midLine = !text.endsWith('\n');
  }

  endText(): void {
    if (this.#midLine) this.#output.write('\n');
    this.#midLine = false;
  }

  line(text: string): void {
    this.endText();
    this.#output.write(`${text}\n`);
  }

  setFooter(): void {}

  refresh(): void {}

  [Symbol.dispose](): void {
    this.endText();
  }
}
