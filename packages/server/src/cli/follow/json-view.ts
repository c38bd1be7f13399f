/** Every event as a line of JSON, as the server sent it. Notes are for people and go to stderr. */
import type { Run, RunEvent } from '@talaria/client';
import type { Terminal } from '../terminal.ts';
import { safeJson } from '../text/safe-text.ts';
import type { RunView } from './run-view.ts';

export class JsonView implements RunView {
  readonly prompt = undefined;
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(event: RunEvent): void {
    this.#terminal.out(safeJson(event));
  }

  end(run: Run): void {
    this.#terminal.out(safeJson(run));
  }

  note(text: string): void {
    this.#terminal.err(text);
  }

  stopping(): void {}

  connection(): void {}

  [Symbol.dispose](): void {}
}
