import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { inMemoryOr, momentaryName, sweepMomentary } from './memory-dir.ts';

/** A process that has made such files and directories, and ends on request. */
async function startMaker() {
  const module = JSON.stringify(new URL('./memory-dir.ts', import.meta.url).href);
  const script = `
    import { mkdirSync, writeFileSync } from 'node:fs';
    import { inMemoryOr, momentaryName } from ${module};
    const made = inMemoryOr(${JSON.stringify(tmpdir())}, (dir) => {
      const [pipes, script] = [dir + '/' + momentaryName('pipes'), dir + '/' + momentaryName('script')];
      mkdirSync(pipes);
      writeFileSync(pipes + '/0', '');
      writeFileSync(script, 'secret');
      return [pipes, script];
    });
    console.log(JSON.stringify(made));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  return { child, ended, paths: JSON.parse(line) as string[] };
}

test('removes the files of a killed process, and none of a living one', async () => {
  const [killed, living] = await Promise.all([startMaker(), startMaker()]);
  expect(killed.paths.map(existsSync)).toEqual([true, true]);
  killed.child.kill('SIGKILL');
  await killed.ended;
  // Any other server of this machine that starts now does the same.
  sweepMomentary();
  expect(killed.paths.map(existsSync)).toEqual([false, false]);
  expect(living.paths.map(existsSync)).toEqual([true, true]);
  living.child.kill('SIGKILL');
  await living.ended;
  sweepMomentary();
  expect(living.paths.map(existsSync)).toEqual([false, false]);
});

test('removes old files of an earlier version, and none with another name', () => {
  const made = (name: string) =>
    inMemoryOr(tmpdir(), (dir) => {
      const path = join(dir, name);
      mkdirSync(path);
      writeFileSync(join(path, '0'), '');
      onTestFinished(() => rmSync(path, { recursive: true, force: true }));
      return path;
    });
  const unique = momentaryName('pipes').slice(-12);
  const [old, young, other] = [`talaria-pipes-${unique}`, `talaria-pipes-y${unique}`, `other-${unique}`].map(
    made,
  );
  for (const path of [old, other]) utimesSync(path!, 0, 0);
  sweepMomentary();
  expect([old, young, other].map((path) => existsSync(path!))).toEqual([false, true, true]);
});
