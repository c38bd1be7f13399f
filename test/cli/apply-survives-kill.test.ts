/** `talaria apply` that is killed between any two of its changes: every file is whole, and a second one completes it. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RUN_ID, serveRunFiles, treeOf } from '../../packages/server/src/cli/testing/serve-run-files.ts';
import { talaria, talariaProcess } from './talaria.ts';

const BEGIN =
  'mkdir -p d/e; echo x > d/e/x; echo y > d/y; echo f > f; echo a > a; echo tool > tool; ln -s a link';
const WORK =
  'rm -r d f; echo file > d; mkdir f; echo g > f/g; echo changed > a; ln -sf f/g link; echo new > new; chmod +x tool';
/** Removed: d/e/x, d/y, f. Written: a, d, f/g, link, new. */
const CHANGES = 8;

test('between the last removal and the first file that is written', () => survivesKillAfter([3]));

test('between any two of its changes', { tags: ['soak'] }, () =>
  survivesKillAfter(Array.from({ length: CHANGES }, (_, index) => index + 1)),
);

test('it makes no more changes than these', async () => {
  const { url, start, root } = await serveRun();
  const ours = join(root, 'ours');
  cpSync(start, ours, { recursive: true, verbatimSymlinks: true });
  const env = { TALARIA_FAILPOINTS: `apply.after-change@${CHANGES + 1}` };
  expect((await talariaProcess(url, ['apply', RUN_ID, '--dir', ours], { env })).code).toBe(0);
});

async function serveRun() {
  const root = mkdtempSync(join(tmpdir(), 'talaria-apply-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [start, now] = [join(root, 'start'), join(root, 'now')];
  for (const [directory, script] of [
    [start, BEGIN],
    [now, `${BEGIN}; ${WORK}`],
  ] as const) {
    mkdirSync(directory);
    execFileSync('bash', ['-ec', script], { cwd: directory });
  }
  const { url } = await serveRunFiles({ start, now });
  return { url, root, start, now };
}

async function survivesKillAfter(changes: readonly number[]): Promise<void> {
  const { url, root, start, now } = await serveRun();
  for (const change of changes) {
    const ours = join(root, `ours-${change}`);
    cpSync(start, ours, { recursive: true, verbatimSymlinks: true });
    const env = { TALARIA_FAILPOINTS: `apply.after-change@${change}` };
    const argv = ['apply', RUN_ID, '--dir', ours];
    expect(await talariaProcess(url, argv, { env })).toMatchObject({ code: null, stdout: '' });
    const left = treeOf(ours);
    const [before, after] = [treeOf(start), treeOf(now)];
    for (const [path, entry] of left) {
      if (path.startsWith('.talaria-apply-')) continue;
      expect([before.get(path), after.get(path)]).toContain(entry);
    }
    expect(await talaria(url, argv)).toMatchObject({ code: 0, stderr: '' });
    expect(treeOf(ours)).toEqual(after);
    expect(readdirSync(ours).sort()).toEqual(readdirSync(now).sort());
  }
}
