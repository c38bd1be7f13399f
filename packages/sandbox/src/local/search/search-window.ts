/**
 * The result that a search shows: the window of results from `offset` on that fits into `limit` results and `maxBytes`
 * bytes, and the total number. Lines of context come with the match they surround.
 */
import type { RecordHandler } from './record-reader.ts';

const COLON = 0x3a;
const MAX_TEXT_CHARS = 400;

interface WindowOptions {
  offset: number;
  limit: number;
  maxBytes: number;
  context: number;
  /** Put before each path in place of its `./`. */
  prefix: string;
}

interface Line {
  number: number;
  shown: string;
}

export class SearchWindow implements RecordHandler {
  readonly lines: string[] = [];
  /** Results in `lines`. */
  shown = 0;
  total = 0;
  files = 0;
  readonly #options: WindowOptions;
  #bytes = 0;
  #full = false;
  #lastPath: Buffer = Buffer.alloc(0);
  #path = '';
  /** Context before a possible match. */
  #pending: Line[] = [];
  /** Lines of context still to show after a match. */
  #after = 0;
  #lastShown: { path: string; number: number } | undefined;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  onRecord(path: Buffer, rest: Buffer): void {
    if (!path.equals(this.#lastPath)) {
      this.#lastPath = Buffer.from(path);
      this.#path = '';
      this.#pending = [];
      this.#after = 0;
      this.files += 1;
    }
    if (rest.length === 0) this.#add({ number: 0, shown: this.#shownPath() }, true);
    else this.#onLine(rest);
  }

  #onLine(rest: Buffer): void {
    let digits = 0;
    while ((rest[digits] as number) >= 0x30 && (rest[digits] as number) <= 0x39) digits++;
    const isMatch = rest[digits] === COLON;
    if (this.#full && this.#after === 0) {
      if (isMatch) this.total += 1;
      return;
    }
    const number = Number(rest.toString('latin1', 0, digits));
    const text = rest.toString('utf8', digits + 1);
    const cut = text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text;
    const sign = isMatch ? ':' : '-';
    this.#add({ number, shown: `${this.#shownPath()}${sign}${number}${sign}${cut}` }, isMatch);
  }

  #add(line: Line, isMatch: boolean): void {
    if (!isMatch) {
      if (this.#after > 0) {
        this.#after -= 1;
        this.#show(line);
        return;
      }
      this.#pending.push(line);
      if (this.#pending.length > this.#options.context) this.#pending.shift();
      return;
    }
    const index = this.total++;
    const before = this.#pending.filter(({ number }) => number >= line.number - this.#options.context);
    this.#pending = [];
    this.#after = 0;
    if (index < this.#options.offset || this.#full) return;
    const bytes = [...before, line].reduce((sum, { shown }) => sum + Buffer.byteLength(shown) + 1, 0);
    this.#full = this.#bytes + bytes > this.#options.maxBytes && this.shown > 0;
    if (this.#full) return;
    for (const each of before) this.#show(each);
    this.#show(line);
    this.shown += 1;
    this.#after = this.#options.context;
    this.#full = this.shown >= this.#options.limit;
  }

  #show(line: Line): void {
    const last = this.#lastShown;
    if (this.#options.context > 0 && last && (last.path !== this.#path || line.number !== last.number + 1)) {
      this.lines.push('--');
    }
    this.#lastShown = { path: this.#path, number: line.number };
    this.#bytes += Buffer.byteLength(line.shown) + 1;
    this.lines.push(line.shown);
  }

  #shownPath(): string {
    if (this.#path === '') {
      this.#path = this.#options.prefix + this.#lastPath.toString('utf8').replace(/^\.\//, '');
    }
    return this.#path;
  }
}
