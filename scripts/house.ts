/**
 * Prints the structure of the source: which folders import which, and which import each other; the longest files, lines
 * of source and of tests. Fails if files, or parts (the folders directly below `src`), import each other. There type
 * imports may go both ways, because they do not exist at run time; between folders they count. `npm run house`, or
 * `npx node <this file>` in another checkout to compare with.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { between, cyclesIn, importsBetween } from './import-graph.ts';

const LONGEST = 15;

const all = globSync(['packages/*/src/**/*.{ts,tsx}', 'test/**/*.ts'], {
  exclude: (path) => path.includes('node_modules'),
}).sort();
const isTest = (file: string): boolean => /^test\/|\.test\.ts$|\.contract\.ts$|\/testing\//.test(file);
const sources = all.filter((file) => !isTest(file));
const linesOf = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;
const total = (files: readonly string[]): number => files.reduce((sum, file) => sum + linesOf(file), 0);
const short = (name: string): string => name.replace('packages/', '').replace('/src', '');

/**
 * `packages/server/src/journal/sqlite/reader.ts` belongs to the part `packages/server/src/journal`; a loose file is a
 * part by itself.
 */
const partOf = (file: string): string => file.split('/').slice(0, 4).join('/');

const folders = between(importsBetween(sources, { types: true }), dirname);
console.log('Folders, and those they import:');
for (const [folder, imported] of [...folders].sort(([a], [b]) => a.localeCompare(b))) {
  const list = [...imported].map(short).sort().join(', ');
  console.log(`  ${short(folder)}${list === '' ? '' : ` → ${list}`}`);
}

console.log();
for (const group of cyclesIn(folders)) {
  console.log(`Folders that import each other: ${group.map(short).join(', ')}`);
}

console.log('\nThe longest files:');
const byLength = sources.map((file) => [linesOf(file), file] as const).sort(([a], [b]) => b - a);
for (const [lines, file] of byLength.slice(0, LONGEST)) console.log(`  ${lines}  ${short(file)}`);

const tests = all.filter(isTest);
console.log(`\nLines of source: ${total(sources)} in ${sources.length} files`);
console.log(`Lines of tests:  ${total(tests)} in ${tests.length} files`);

const files = importsBetween(sources, { types: false });
for (const cycle of [...cyclesIn(files), ...cyclesIn(between(files, partOf))]) {
  console.error(`\nThese import each other: ${cycle.map(short).join(', ')}`);
  process.exitCode = 1;
}
