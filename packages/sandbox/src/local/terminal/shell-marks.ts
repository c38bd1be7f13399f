/**
 * How the shell of a terminal says what it does, in what it prints: marks that no terminal shows (operating system commands of a
 * number that nobody uses). A key of the session is part of each, so that no other text is taken for one.
 *
 *   begun     a call of ours has begun; what the shell echoed of it comes before
 *   ended     the shell is about to prompt: which call of ours ran last, and the exit code of the last command
 *   prompt    the prompt is complete: the shell takes the next line
 *   more      the shell waits for the rest of a line
 *
 * The prompts print all but the first (PS1, PS2), as every POSIX shell expands them. After a call of ours that sets another
 * prompt the marks are put around it. Where keys set one they are gone; then the next call of ours ends by its timeout.
 */
const NUMBER = 5123;
const ESCAPE = 0x1b;
const BELL = 0x07;
/** A mark is shorter. */
const MAX_BYTES = 200;

export type Mark =
  | { kind: 'begun'; call: string }
  | { kind: 'ended'; call: string; code: number }
  | { kind: 'prompt' | 'more' };

/** The variable in which the shell remembers the last call of ours. */
const CALL = 'TALARIA_CALL';
const CODE = 'TALARIA_CODE';

/** As readline has to be told that something takes no room: it computes where the line wraps. */
const hidden = (text: string) => `\x01${text}\x02`;
const mark = (key: string, ...words: string[]) => `\x1b]${[NUMBER, key, ...words].join(';')}\x07`;

/** The variables that make the prompt. */
export function promptFor(key: string): Record<string, string> {
  const { before, after } = marksOf(key);
  return { [CALL]: '0', PS1: `${before}$ ${after}`, PS2: `${hidden(mark(key, 'more'))}> ` };
}

/** What the shell reads after a call: puts the marks around a prompt that has none, and passes the exit code on. */
export function renderPrompt(key: string): string {
  const { before, after } = marksOf(key);
  const marked = `PS1='${before}'"\${PS1-}"'${after}'`;
  return `${CODE}=$?\ncase \${PS1-} in *${key}*) ;; *) ${marked} ;; esac\nreturn $${CODE}\n`;
}

function marksOf(key: string): { before: string; after: string } {
  return { before: hidden(mark(key, 'ended', `$${CALL}`, '$?')), after: hidden(mark(key, 'prompt')) };
}

/** What the shell reads for a call. The variable is exported, so that a shell inside has it, too. */
export function renderCall(key: string, call: string, command: string): string {
  const begun = `\\033]${[NUMBER, key, 'begun', call].join(';')}\\007`;
  // Whatever the shell has under these names.
  return `\\command export ${CALL}=${call}; \\command printf '${begun}'\n${command}\n`;
}

/** Separates the marks from everything else, however the output is cut into pieces. */
export class MarkReader {
  readonly #start: Buffer;
  readonly #onMark: (mark: Mark) => void;
  readonly #onText: (text: Buffer) => void;
  /** The beginning of what may become a mark. */
  #held: Buffer = Buffer.alloc(0);

  constructor(key: string, on: { mark(mark: Mark): void; text(text: Buffer): void }) {
    this.#start = Buffer.from(`\x1b]${NUMBER};${key};`);
    this.#onMark = on.mark;
    this.#onText = on.text;
  }

  /** The texts are parts of the chunk, and belong to its owner. */
  write(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = Buffer.alloc(0);
    while (rest.length > 0) {
      const at = this.#next(rest);
      if (at > 0) this.#onText(rest.subarray(0, at));
      rest = rest.subarray(at);
      if (rest.length === 0) return;
      const end = rest.subarray(0, MAX_BYTES).indexOf(BELL);
      if (end >= 0 && rest.length >= this.#start.length) {
        this.#read(rest.toString('latin1', this.#start.length, end));
        rest = rest.subarray(end + 1);
      } else if (rest.length < MAX_BYTES) {
        // A copy: the owner of the chunk uses its memory again.
        this.#held = Buffer.from(rest);
        return;
      } else {
        this.#onText(rest.subarray(0, 1));
        rest = rest.subarray(1);
      }
    }
  }

  /** Where a mark begins, or may begin. */
  #next(bytes: Buffer): number {
    for (let at = bytes.indexOf(ESCAPE); at >= 0; at = bytes.indexOf(ESCAPE, at + 1)) {
      const length = Math.min(this.#start.length, bytes.length - at);
      if (bytes.compare(this.#start, 0, length, at, at + length) === 0) return at;
    }
    return bytes.length;
  }

  #read(words: string): void {
    const [kind, call = '', code] = words.split(';');
    if (kind === 'begun') this.#onMark({ kind, call });
    else if (kind === 'ended') this.#onMark({ kind, call, code: Number(code) || 0 });
    else if (kind === 'prompt' || kind === 'more') this.#onMark({ kind });
  }
}
