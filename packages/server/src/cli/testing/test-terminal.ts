/** A terminal for tests that run a command in their own process: not a terminal, but a record of what was printed. */
import type { Env } from '../../config/environment.ts';
import { createStyle } from '../style.ts';
import type { Output, Terminal } from '../terminal.ts';

export class TestOutput implements Output {
  readonly isTerminal = false;
  readonly canRedraw = false;
  readonly columns = Number.POSITIVE_INFINITY;
  readonly rows = Number.POSITIVE_INFINITY;
  readonly style = createStyle(false);
  readonly closed = new AbortController().signal;
  written = '';

  write(text: string): void {
    this.written += text;
  }

  onResize(): Disposable {
    return { [Symbol.dispose]() {} };
  }
}

export class TestTerminal implements Terminal {
  readonly stdout = new TestOutput();
  readonly stderr = new TestOutput();
  readonly env: Env;
  readonly homeDir = '/nonexistent/home';

  constructor(env: Env = {}) {
    this.env = env;
  }

  out(text: string): void {
    this.stdout.write(`${text}\n`);
  }

  err(text: string): void {
    this.stderr.write(`${text}\n`);
  }
}
