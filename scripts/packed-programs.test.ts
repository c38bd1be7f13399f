/** A thread's program is found by its path, so no import brings it into the package that npm packs. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const PACKAGES = join(dirname(import.meta.dirname), 'packages');

test.each(['sandbox', 'server'])('the package %s has all programs of its threads', (name) => {
  const cwd = join(PACKAGES, name);
  const programs = globSync('src/**/*-{program,thread}.ts', { cwd }).filter((path) =>
    readFileSync(join(cwd, path), 'utf8').includes('parentPort'),
  );
  const started = globSync('src/**/*.ts', { cwd }).flatMap((path) => {
    const text = readFileSync(join(cwd, path), 'utf8');
    return text.includes('answerJobs((') ? [path] : [];
  });
  const { files } = JSON.parse(readFileSync(join(cwd, 'tsconfig.build.json'), 'utf8')) as { files: string[] };
  const all = [...programs, ...started].filter((path) => !path.endsWith('basics/job-thread-program.ts'));
  expect(all.length).toBeGreaterThan(1);
  expect(files).toEqual(expect.arrayContaining(all));
});
