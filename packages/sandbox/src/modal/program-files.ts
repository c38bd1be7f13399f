/** The files of this package that the program inside a sandbox needs: its entry and its threads, and what those import. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVER_PROGRAM } from '../containers/server-program.ts';

const IMPORTS = [
  /^(?:import|export)\s(?!type\s)[^;'"=]*?\bfrom\s*['"](\.{1,2}\/[^'"]+)['"]/gm,
  /^import\s*['"](\.{1,2}\/[^'"]+)['"]/gm,
  /\bimport\(\s*['"](\.{1,2}\/[^'"]+)['"]\s*\)/g,
];

/** By their paths in the package. */
export function programFiles(): Record<string, string> {
  const { packageDir, entry, threads } = SERVER_PROGRAM;
  const read = (path: string) => readFileSync(join(packageDir, path), 'utf8');
  const files = new Map([['package.json', read('package.json')]]);
  const add = (path: string): void => {
    if (files.has(path)) return;
    const text = read(path);
    files.set(path, text);
    for (const imported of importsOf(text)) add(join(path, '..', imported));
  };
  for (const path of [entry, ...threads]) add(path);
  return Object.fromEntries([...files].sort(([one], [other]) => (one < other ? -1 : 1)));
}

export function importsOf(text: string): string[] {
  return IMPORTS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, path]) => path ?? ''));
}
