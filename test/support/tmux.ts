/**
 * A program in a real terminal, driven through tmux: it draws what a person would see, keys are keys, and the window
 * can change its size.
 */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { waitFor } from './wait-for.ts';

/** The screen may change without output, for example when the window changes its size. */
const LOOK_AGAIN_MS = 250;

/** The reason for the title of a test that needs tmux; empty if it is installed. */
export const noTmux = spawnSync('tmux', ['-V']).status === 0 ? '' : ' (skipped: tmux is not installed)';

export interface TmuxOptions {
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
}

export class TmuxTerminal implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'talaria-tmux-'));
  readonly #codeFile = join(this.#directory, 'exit-code');
  readonly #tmux: TmuxControl;

  /** Runs the command, word by word, in a window of this size. */
  static async start(command: readonly string[], options: TmuxOptions = {}): Promise<TmuxTerminal> {
    const terminal = new TmuxTerminal(command, options);
    await terminal.#tmux.attached;
    return terminal;
  }

  private constructor(command: readonly string[], { columns = 100, rows = 30, env = {} }: TmuxOptions) {
    // The shell keeps the terminal open after the program, and ignores keys meant for the program.
    const shell = `trap : INT QUIT; "$@"; echo $? > ${quote(this.#codeFile)}; exec sleep 3600`;
    // It takes the place of the shell that tmux starts. The end of tmux then always ends it: the kernel tells the leader of
    // a session, and of all others only those in the foreground, and a shell with jobs has put others there.
    const program = `exec ${['sh', '-c', shell, 'sh', ...command].map(quote).join(' ')}`;
    // A tmux server of its own, with the environment of the program.
    this.#tmux = new TmuxControl(
      [
        ...['-u', '-f', '/dev/null', '-S', join(this.#directory, 'tmux')],
        ...['-C', 'set-option', '-g', 'history-limit', '10000', ';'],
        ...['new-session', '-x', String(columns), '-y', String(rows), program],
      ],
      // The account's own shell may be one that runs nothing.
      {
        PATH: process.env.PATH,
        SHELL: '/bin/sh',
        HOME: this.#directory,
        LANG: 'C.UTF-8',
        TERM: 'xterm-256color',
        ...env,
      },
    );
  }

  /** What is on the screen, without colours; with its history, if wanted. */
  async screen({ history = false, colours = false } = {}): Promise<string> {
    const flags = ['-p', ...(history ? ['-S', '-'] : []), ...(colours ? ['-e'] : [])];
    return (await this.#tmux.ask('capture-pane', ...flags)).trimEnd();
  }

  /** Waits for the text and returns the whole screen. */
  shows(text: RegExp, limitMs?: number): Promise<string> {
    return this.#until((screen) => text.test(screen), `${text} on the screen`, limitMs);
  }

  hides(text: RegExp): Promise<string> {
    return this.#until((screen) => !text.test(screen), `${text} to go away`);
  }

  /** Keys by name: `o`, `Enter`, `C-c`. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux.ask('send-keys', ...keys);
  }

  /** As a terminal does: marked as pasted, if the program wants that. */
  async paste(text: string): Promise<void> {
    await this.#tmux.ask('set-buffer', text);
    await this.#tmux.ask('paste-buffer', '-p');
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux.ask('resize-window', '-x', String(columns), '-y', String(rows));
  }

  /** Waits for the end of the program. */
  async exitCode(): Promise<number> {
    const line = await waitFor('the program to end', () => {
      try {
        const text = readFileSync(this.#codeFile, 'utf8');
        return text.endsWith('\n') && text;
      } catch {
        return false;
      }
    });
    return Number(line);
  }

  async cursorIsVisible(): Promise<boolean> {
    return (await this.#tmux.ask('display-message', '-p', '#{cursor_flag}')).trim() === '1';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux.end();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #until(check: (screen: string) => boolean, what: string, limitMs?: number): Promise<string> {
    let last = '';
    let seen = -1;
    let lookAt = 0;
    const look = async () => {
      // What the program has not written to looks as before.
      if (seen === this.#tmux.outputs && performance.now() < lookAt) return false;
      seen = this.#tmux.outputs;
      lookAt = performance.now() + LOOK_AGAIN_MS;
      last = await this.screen({ history: true });
      return check(last) && last;
    };
    try {
      return await waitFor(what, look, limitMs);
    } catch (error) {
      throw new Error(`${(error as Error).message}; the screen:\n${last}`);
    }
  }
}

/**
 * A client of tmux in its control mode: commands are lines, and so are the answers. A process for each command would take
 * more of the processor than what is tested.
 */
class TmuxControl {
  /** How often the program has written something. */
  outputs = 0;
  /** Resolves when there is a window. A command before that has nothing to work on. */
  readonly attached: Promise<void>;
  readonly #attached = Promise.withResolvers<void>();
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<unknown>;
  readonly #asked: PromiseWithResolvers<string>[] = [];
  /** The lines of the answer that is being read. */
  #answer: string[] | undefined;

  constructor(words: readonly string[], env: NodeJS.ProcessEnv) {
    this.attached = this.#attached.promise;
    this.#child = spawn('tmux', words, { env });
    this.#closed = once(this.#child, 'close').then(() => {
      for (const { reject } of [this.#attached, ...this.#asked.splice(0)])
        reject(new Error('tmux has ended'));
    });
    this.#child.stdin.on('error', () => {});
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#read(line));
  }

  ask(...words: string[]): Promise<string> {
    const asked = Promise.withResolvers<string>();
    this.#asked.push(asked);
    this.#child.stdin.write(`${words.map(quote).join(' ')}\n`);
    return asked.promise;
  }

  async end(): Promise<void> {
    this.ask('kill-server').catch(() => {});
    await this.#closed;
  }

  #read(line: string): void {
    // 1 marks what a line has asked, in contrast to the words of the start.
    const [, mark] = /^%(begin|end|error) \d+ \d+ 1$/.exec(line) ?? [];
    if (mark === 'begin') this.#answer = [];
    else if (mark !== undefined) {
      const text = this.#answer?.join('\n') ?? '';
      this.#answer = undefined;
      const asked = this.#asked.shift();
      if (mark === 'end') asked?.resolve(text);
      else asked?.reject(new Error(`tmux: ${text}`));
    } else if (this.#answer !== undefined) this.#answer.push(line);
    else if (line.startsWith('%session-changed ')) this.#attached.resolve();
    else if (line.startsWith('%output ')) this.outputs++;
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
