/** Real processes that use a journal, to be killed by tests. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

export interface TestProcess extends AsyncDisposable {
  child: ChildProcessByStdio<Writable, Readable, null>;
  /** What it has printed so far. */
  output(): string;
  /** Resolves with all it printed when the process has ended. */
  ended: Promise<string>;
}

export function fixturePath(name: string): string {
  return fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
}

export function startFixture(name: string, path: string, env: Record<string, string> = {}): TestProcess {
  const child = spawn(process.execPath, [fixturePath(name), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const ended = once(child, 'close').then(() => printed);
  return {
    child,
    output: () => printed,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
