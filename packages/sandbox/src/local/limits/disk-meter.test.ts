import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DiskMeter, writtenBelow } from './disk-meter.ts';

const MB = 1024 * 1024;

const TMPFS = 0x01021994;
const isMemory = statfsSync(tmpdir()).type === TMPFS;
const why = isMemory ? ` (skipped: ${tmpdir()} is memory, which the kernel does not count as written)` : '';

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-limits-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test.skipIf(isMemory)(
  `bytes that processes write count for the first of them, and for this process when they have ended${why}`,
  async () => {
    const dir = directory();
    const meter = new DiskMeter(dir);
    const before = meter.now();
    const script = `(dd if=/dev/zero of='${join(dir, 'file')}' bs=1M count=8) 2>/dev/null; echo done; read -r _; exit`;
    const child = spawn('sh', ['-c', `sh -c "$0"; exit $?`, script], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    expect(writtenBelow([child.pid as number])).toBeGreaterThanOrEqual(8 * MB);
    child.stdin.end();
    await once(child, 'exit');
    expect(meter.now().writtenBytes - before.writtenBytes).toBeGreaterThanOrEqual(8 * MB);
  },
);

test('a process that is gone has written nothing', () => {
  expect(writtenBelow([2 ** 22 + 1])).toBe(0);
});
