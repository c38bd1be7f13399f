import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PipeStock } from './pipe-stock.ts';
import { runCommand } from './run-command.ts';
import type { Launch } from './spawn-program.ts';

/** Longer than a command waits for the rest of its output. */
const LONG_MS = 1_200;

test('output that came while the event loop was busy is not lost', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-run-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const [go, said] = [join(dir, 'go'), join(dir, 'said')];

  /** Nothing is read until the command has printed it and the time to wait for it is over. */
  function beBusy(): void {
    const until = performance.now() + LONG_MS;
    writeFileSync(go, '');
    while (performance.now() < until || !existsSync(said)) pause(10);
  }
  const launch: Launch = {
    program: '/bin/sh',
    args: ['/dev/fd/3'],
    env: { PATH: process.env.PATH ?? '' },
    cwd: dir,
    entrances: [],
    async end() {
      // When this runs, the wait for the rest of the output has begun.
      setImmediate(beBusy);
      return true;
    },
    signal() {},
  };
  const chunks: string[] = [];
  const pipes = new PipeStock();
  onTestFinished(() => pipes.close());
  await runCommand(launch, {
    script: Buffer.from(`(until [ -e '${go}' ]; do sleep 0.01; done; echo late; : > '${said}') &`),
    scriptDir: dir,
    pipes,
    capture: { write: (chunk) => void chunks.push(chunk.toString()) },
    signal: new AbortController().signal,
  });
  expect(chunks.join('')).toBe('late\n');
});

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
