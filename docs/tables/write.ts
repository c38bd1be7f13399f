/** Writes the documents that come from the code: `npm run docs`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { GENERATED } from './generated.ts';

for (const [path, generate] of Object.entries(GENERATED)) {
  const url = new URL(`../../${path}`, import.meta.url);
  writeFileSync(url, generate(existsSync(url) ? readFileSync(url, 'utf8') : ''));
}
