/**
 * Writes what a server prints on its standard error to the log: at level debug, line by line, without secrets, and not
 * too much. The last lines are kept, because they usually say why a server ended.
 */
import type { Log } from '../basics/log.ts';
import type { SecretFilter } from '../secrets/secret-filter.ts';
import type { Secrets } from '../secrets/secrets.ts';

const LINE_CHARS = 1_000;
const LINES_PER_WINDOW = 100;
const WINDOW_MS = 10_000;
const KEPT_LINES = 20;

export interface ChildLogOptions {
  server: string;
  log: Log;
  secrets: Secrets;
  now?: () => number;
}

export class ChildLog {
  readonly #options: ChildLogOptions;
  readonly #now: () => number;
  /** Before the text is split into lines, so that no cut falls into a secret. */
  readonly #filter: SecretFilter;
  #rest = '';
  #last: string[] = [];
  #windowStart = 0;
  #inWindow = 0;
  #leftOut = 0;

  constructor(options: ChildLogOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#filter = options.secrets.filter();
  }

  push(text: string): void {
    this.#take(this.#filter.push(text));
  }

  end(): void {
    this.#take(`${this.#filter.end()}\n`);
  }

  /** The line that most likely says what went wrong: a stack or a version often comes after it. */
  get complaint(): string | undefined {
    return (
      this.#last.findLast((line) => /error|fail|not found|cannot|denied|invalid/i.test(line)) ??
      this.#last.at(-1)
    );
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, LINE_CHARS);
    for (const line of lines) {
      const shown = this.#options.secrets.mask(line.trim().slice(0, LINE_CHARS));
      if (shown !== '') this.#write(shown);
    }
  }

  #write(line: string): void {
    this.#last = [...this.#last, line].slice(-KEPT_LINES);
    const { log, server } = this.#options;
    const now = this.#now();
    if (now - this.#windowStart >= WINDOW_MS) {
      if (this.#leftOut > 0) log.debug({ mcpServer: server, lines: this.#leftOut }, 'lines left out');
      this.#windowStart = now;
      this.#inWindow = 0;
      this.#leftOut = 0;
    }
    this.#inWindow += 1;
    if (this.#inWindow > LINES_PER_WINDOW) this.#leftOut += 1;
    else log.debug({ mcpServer: server, line }, 'the MCP server says');
  }
}
