/** Checks of every installed package of ours: it holds built files, and nothing else. */
import { expect } from 'vitest';
import type { EmptyProject } from './empty-project.ts';

const TOP_LEVEL = ['LICENSE', 'README.md', 'package.json'];

/** `programs` are its files that are not modules. */
export function expectPackage(project: EmptyProject, name: string, programs: readonly string[] = []): void {
  const files = project.filesOf(name);
  const built = files.filter((file) => /^dist\/.*\.js$/.test(file));
  const declarations = built.map((file) => file.replace(/\.js$/, '.d.ts'));
  expect(files).toEqual([...TOP_LEVEL, ...programs, ...built, ...declarations].sort());
  expect(built.filter((file) => /(test|testing|fixture|contract|suite)\b/.test(file))).toEqual([]);

  const manifest = project.manifestOf(name);
  expect(manifest).not.toHaveProperty('scripts');
  const entries = { ...manifest.exports, ...manifest.imports };
  const targets = Object.values(entries).flatMap((conditions) => Object.values(conditions));
  expect(targets.length).toBeGreaterThan(0);
  for (const target of targets) expect(files).toContain(target.slice('./'.length));
}
