/**
 * One bash that runs the scripts of a test file, one after the other. The first script starts it. Starting a process from
 * a test takes the test about two milliseconds of processor time; this shell starts one for less, and blocks nobody.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

export class Shell {
  #bash: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves to what the script prints, and rejects if it fails. What it prints as errors is shown. */
  run(directory: string, script: string): Promise<Buffer> {
    const done = this.#last.then(() => this.#run(directory, script));
    this.#last = done.catch(() => {});
    return done;
  }

  async close(): Promise<void> {
    await this.#last;
    if (this.#bash === undefined || this.#bash.exitCode !== null) return;
    const ended = once(this.#bash, 'close');
    this.#bash.stdin!.end();
    await ended;
  }

  #run(directory: string, script: string): Promise<Buffer> {
    this.#bash ??= spawn('bash', ['--norc'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const { stdin, stdout } = this.#bash as ChildProcess & { stdin: object; stdout: object };
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const end = `${randomUUID()} `;
    const pieces: Buffer[] = [];
    const read = (piece: Buffer): void => {
      pieces.push(piece);
      if (piece.at(-1) !== '\n'.charCodeAt(0)) return;
      const printed = Buffer.concat(pieces);
      const at = printed.lastIndexOf(end);
      if (at === -1) return;
      const status = Number(printed.subarray(at + end.length));
      const output = printed.subarray(0, at);
      if (status === 0) resolve(output);
      else reject(new Error(`The script ended with ${status}: ${script}\n${output}`));
    };
    const exit = (): void => reject(new Error(`The shell ended in the script: ${script}`));
    stdout.on('data', read);
    this.#bash.on('close', exit).on('error', reject);
    stdin.write(
      `(cd ${quoted(directory)} && exec bash -ec ${quoted(script)}) < /dev/null; echo "${end}$?"\n`,
    );
    const bash = this.#bash;
    return promise.finally(() => {
      stdout.off('data', read);
      bash.off('close', exit).off('error', reject);
    });
  }
}

/** As one word of a script. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
