/**
 * The last of what a terminal printed, and when. A screen is made from it when somebody looks (screen-thread.ts), and so are
 * the lines of an asciicast. It is bounded, whatever is printed.
 */
import { StringDecoder } from 'node:string_decoder';

/** In characters, and in pieces: many screens. */
const MAX_LENGTH = 1024 * 1024;
const MAX_PIECES = 10_000;
/** A screen is made of the last of it. With every character escaped, it fits into an answer from a container. */
const REPLAY_LENGTH = 160 * 1024;
/** Pieces that come faster are one, up to a size that fits into a short line. */
const PIECE_MS = 20;
const PIECE_LENGTH = 2_000;

/** What switches to the other screen, which full-screen programs use, and back. */
const SWITCHES = /\x1b\[\?(?:1049|1047|47)([hl])/g;

interface Piece {
  atMs: number;
  text: string;
}

export interface Replay {
  text: string;
  /** The beginning is missing, and with it the switch to the other screen. */
  alternate: boolean;
}

export class Recording {
  readonly columns: number;
  readonly rows: number;
  readonly #startedAt = Date.now();
  readonly #decoder = new StringDecoder('utf8');
  #pieces: Piece[] = [];
  #length = 0;
  #alternate = false;
  /** How many pieces are gone, and how many were streamed. */
  #gone = 0;
  #streamed = 0;
  #hasHeader = false;
  #streamedBytes = 0;

  constructor({ columns, rows }: { columns: number; rows: number }) {
    this.columns = columns;
    this.rows = rows;
  }

  write(bytes: Buffer): void {
    let text = this.#decoder.write(bytes);
    while (text !== '') {
      const atMs = Date.now() - this.#startedAt;
      const last = this.#pieces.at(-1);
      const isOpen =
        last !== undefined &&
        this.#streamed < this.#gone + this.#pieces.length &&
        atMs - last.atMs < PIECE_MS &&
        last.text.length < PIECE_LENGTH;
      const room = isOpen ? PIECE_LENGTH - last.text.length : PIECE_LENGTH;
      const part = text.slice(0, room);
      if (isOpen) last.text += part;
      else this.#pieces.push({ atMs, text: part });
      this.#length += part.length;
      text = text.slice(room);
    }
    if (this.#length > MAX_LENGTH || this.#pieces.length > MAX_PIECES) this.#forgetHalf();
  }

  replay(): Replay {
    const whole = this.#pieces.map(({ text }) => text).join('');
    const text = whole.slice(-REPLAY_LENGTH);
    const left = whole.slice(0, whole.length - text.length);
    return { text, alternate: screenAfter(left, this.#alternate) };
  }

  /** The next calls of `stream` begin again. */
  rewind(): void {
    this.#streamed = this.#gone;
    this.#hasHeader = false;
    this.#streamedBytes = 0;
  }

  /** Whole lines of an asciicast that were not streamed yet, up to this many bytes. */
  stream(maxBytes: number): { lines: string; offset: number; missing: boolean } {
    const missing = this.#streamed < this.#gone;
    this.#streamed = Math.max(this.#streamed, this.#gone);
    const lines: string[] = [];
    let bytes = 0;
    const add = (line: string): boolean => {
      const size = Buffer.byteLength(line);
      if (bytes + size > maxBytes) return false;
      lines.push(line);
      bytes += size;
      return true;
    };
    if (!this.#hasHeader) this.#hasHeader = add(this.#header());
    while (this.#hasHeader) {
      const piece = this.#pieces[this.#streamed - this.#gone];
      if (piece === undefined) break;
      if (!add(`${JSON.stringify([piece.atMs / 1000, 'o', piece.text])}\n`)) break;
      this.#streamed++;
    }
    this.#streamedBytes += bytes;
    return { lines: lines.join(''), offset: this.#streamedBytes, missing };
  }

  #header(): string {
    const { columns: width, rows: height } = this;
    const timestamp = Math.floor(this.#startedAt / 1000);
    return `${JSON.stringify({ version: 2, width, height, timestamp, env: { TERM: 'xterm-256color' } })}\n`;
  }

  #forgetHalf(): void {
    const gone = this.#pieces.splice(0, Math.ceil(this.#pieces.length / 2));
    this.#gone += gone.length;
    const text = gone.map((piece) => piece.text).join('');
    this.#length -= text.length;
    this.#alternate = screenAfter(text, this.#alternate);
  }
}

/** Whether the other screen is in use after this text. */
function screenAfter(text: string, before: boolean): boolean {
  const last = [...text.matchAll(SWITCHES)].at(-1);
  return last === undefined ? before : last[1] === 'h';
}
