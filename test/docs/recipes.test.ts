/** The recipes of ARCHITECTURE.md name the files of a change, so each file has to exist. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const architecture = readFileSync(new URL('ARCHITECTURE.md', ROOT), 'utf8');
const recipes = /^## Recipes\n(.*?)^## /ms.exec(architecture)?.[1] ?? '';

it.each(['Add an event', 'Add a backend', 'Change a default'])('names only files that exist: %s', (title) => {
  const recipe = recipes.split(/^### /m).find((part) => part.startsWith(title)) ?? '';
  const named = [...recipe.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!.split(' ').at(-1)!);
  const paths = named.filter((name) => name.includes('/') || /\.(md|ts|json)$/.test(name));
  expect(paths.length).toBeGreaterThan(3);
  expect(paths.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});
