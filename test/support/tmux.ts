/**
 * A program in a real terminal, driven through tmux: it draws what a person would see, keys are keys, and the window
 * can change its size.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from './wait-for.ts';

const run = promisify(execFile);

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

  /** Runs the command, word by word, in a window of this size. */
  static async start(command: readonly string[], options: TmuxOptions = {}): Promise<TmuxTerminal> {
    const terminal = new TmuxTerminal();
    const { columns = 100, rows = 30, env = {} } = options;
    // The shell keeps the terminal open after the program, and ignores keys meant for the program.
    const shell = `trap : INT QUIT; "$@"; echo $? > ${quote(terminal.#codeFile)}; exec sleep 3600`;
    // A tmux server of its own, with the environment of the program.
    await terminal.#tmux(
      ['set-option', '-g', 'history-limit', '10000', ';', 'new-session', '-d', '-x', String(columns), '-y'],
      [String(rows), ['sh', '-c', shell, 'sh', ...command].map(quote).join(' ')],
      env,
    );
    return terminal;
  }

  /** What is on the screen, without colours; with its history, if wanted. */
  async screen({ history = false, colours = false } = {}): Promise<string> {
    const flags = ['-p', ...(history ? ['-S', '-'] : []), ...(colours ? ['-e'] : [])];
    return (await this.#tmux(['capture-pane', ...flags])).trimEnd();
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
    await this.#tmux(['send-keys', ...keys]);
  }

  /** As a terminal does: marked as pasted, if the program wants that. */
  async paste(text: string): Promise<void> {
    await this.#tmux(['set-buffer', text, ';', 'paste-buffer', '-p']);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux(['resize-window', '-x', String(columns), '-y', String(rows)]);
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
    return (await this.#tmux(['display-message', '-p', '#{cursor_flag}'])).trim() === '1';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux(['kill-server']).catch(() => {});
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #until(check: (screen: string) => boolean, what: string, limitMs?: number): Promise<string> {
    let last = '';
    try {
      return await waitFor(
        what,
        async () => {
          last = await this.screen({ history: true });
          return check(last) && last;
        },
        limitMs,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}; the screen:\n${last}`);
    }
  }

  async #tmux(
    words: readonly string[],
    more: readonly string[] = [],
    env: Record<string, string> = {},
  ): Promise<string> {
    const socket = join(this.#directory, 'tmux');
    const { stdout } = await run('tmux', ['-u', '-f', '/dev/null', '-S', socket, ...words, ...more], {
      // The account's own shell may be one that runs nothing.
      env: {
        PATH: process.env.PATH,
        SHELL: '/bin/sh',
        HOME: this.#directory,
        LANG: 'C.UTF-8',
        TERM: 'xterm-256color',
        ...env,
      },
    });
    return stdout;
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
