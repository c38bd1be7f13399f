/** A terminal for tests that run a command in their own process: not a terminal, but a record of what was printed. */
import { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Env } from '../../config/environment.ts';
import { createStyle } from '../style.ts';
import type { Input, Output, Terminal } from '../terminal.ts';

export class TestOutput implements Output {
  readonly isTerminal = false;
  readonly canRedraw = false;
  readonly columns = Number.POSITIVE_INFINITY;
  readonly rows = Number.POSITIVE_INFINITY;
  readonly style = createStyle(false);
  readonly closed = new AbortController().signal;
  readonly stream = new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      this.write(this.#decoder.write(bytes));
      done();
    },
  });
  readonly #decoder = new StringDecoder();
  written = '';

  write(text: string): void {
    this.written += text;
  }

  onResize(): Disposable {
    return { [Symbol.dispose]() {} };
  }
}

export class TestTerminal implements Terminal {
  readonly stdin: Input;
  readonly stdout = new TestOutput();
  readonly stderr = new TestOutput();
  readonly env: Env;
  readonly homeDir = '/nonexistent/home';
  readonly workingDir: string;

  constructor(
    env: Env = {},
    {
      input = '',
      workingDir = process.cwd(),
    }: { input?: string | undefined; workingDir?: string | undefined } = {},
  ) {
    this.env = env;
    this.stdin = { stream: Readable.from([Buffer.from(input)], { objectMode: false }), isTerminal: false };
    this.workingDir = workingDir;
  }

  out(text: string): void {
    this.stdout.write(`${text}\n`);
  }

  err(text: string): void {
    this.stderr.write(`${text}\n`);
  }
}
