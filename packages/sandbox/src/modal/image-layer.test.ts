import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SERVER_PROGRAM } from '../containers/server-program.ts';
import { imageLayer } from './image-layer.ts';
import { importsOf, programFiles } from './program-files.ts';

test('the layer unpacks the files that it was given, in lines that a builder takes', async () => {
  const base = await mkdtemp(join(tmpdir(), 'talaria-layer-test-'));
  // Larger than a line even when it is packed, and with characters that a shell could interpret.
  const noise = Array.from({ length: 30_000 }, (_, index) =>
    ((index * 2_654_435_761) % 2 ** 32).toString(36),
  );
  const files = { 'package.json': '{}', 'src/a/b.ts': `'"\`$x\\\n${noise.join(' ')}` };
  const [copy, ...runs] = imageLayer(files);
  expect(copy).toMatch(/^COPY --from=node:24\S* \/usr\/local\/bin\/node \/talaria\/node$/);
  for (const line of runs) {
    expect(line.length).toBeLessThan(65_536);
    expect(line).toMatch(/^RUN [^\n]+$/);
    // In one pass: the path of this Node may have a folder of that name, too.
    const command = line
      .slice('RUN '.length)
      .replaceAll(/\/talaria(\/node)?/g, (_, node) => (node === undefined ? base : process.execPath));
    expect(spawnSync('sh', ['-c', command], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  }
  expect(runs.length).toBeGreaterThan(4);
  for (const [path, text] of Object.entries(files))
    expect(await readFile(join(base, 'sandbox', path), 'utf8')).toBe(text);
  expect(existsSync(join(base, 'packed'))).toBe(false);
  await rm(base, { recursive: true });
});

test('the same files make the same layer, so that it is built once', () => {
  expect(imageLayer(programFiles())).toEqual(imageLayer(programFiles()));
});

test('the program has everything that it imports, and no test', () => {
  const files = programFiles();
  expect(Object.keys(files)).toContain(SERVER_PROGRAM.entry);
  for (const [path, text] of Object.entries(files)) {
    expect(path).not.toMatch(/\.test\.|contract|testing\//);
    if (path === 'package.json') continue;
    for (const imported of importsOf(text)) expect(files).toHaveProperty([join(path, '..', imported)]);
  }
});

test('imports are found in every form, and neither types nor other text', () => {
  const text = [
    `import { a,\n  b } from './one.ts';`,
    `import './two.ts';`,
    `export * from "../three.js";`,
    `const four = await import('./four.ts');`,
    `import type { T } from './types.ts';`,
    `import { readFileSync } from 'node:fs';`,
    `export const SUFFIX = '.listening';`,
    `export const PLACE = './workspaces';`,
  ].join('\n');
  expect(importsOf(text).sort()).toEqual(['../three.js', './four.ts', './one.ts', './two.ts']);
});
