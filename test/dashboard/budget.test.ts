/** What a browser loads, gzipped, before it shows anything and for each page after that. */
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const DIST = new URL('../../packages/dashboard/dist/', import.meta.url);
const KIB = 1024;

const sizeOf = (path: string) => gzipSync(readFileSync(new URL(path, DIST)), { level: 9 }).length / KIB;

/** The page, its scripts and styles, and every script that they import at once. */
function firstLoad(page: string): number {
  const seen = new Set<string>();
  const add = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    if (!path.endsWith('.js')) return;
    const text = readFileSync(new URL(path, DIST), 'utf8');
    for (const [, other] of text.matchAll(/(?:import|from)\s*["']\.\/([^"']+\.js)["']/g))
      add(`assets/${other}`);
  };
  const html = readFileSync(new URL(page, DIST), 'utf8');
  for (const [, path] of html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)) add(path!);
  return sizeOf(page) + [...seen].reduce((sum, path) => sum + sizeOf(path), 0);
}

test('the first load is at most 90 KiB, and that of the approve page 30', () => {
  expect(firstLoad('index.html')).toBeLessThanOrEqual(90);
  const approve = firstLoad('approve.html');
  expect(approve).toBeLessThanOrEqual(30);
  // Preact and the client: less would mean that this test misses what the page imports.
  expect(approve).toBeGreaterThan(10);
});

test('whatever is loaded later comes in pieces of at most 60 KiB', () => {
  for (const name of readdirSync(new URL('assets/', DIST))) {
    expect(sizeOf(`assets/${name}`), name).toBeLessThanOrEqual(60);
  }
});
