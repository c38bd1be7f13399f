/**
 * Records what the contract suite showed, from vitest's JSON reports, and writes the table of docs/backends.md:
 *
 *   SOAK=full npx vitest run packages/sandbox/src/nomad --reporter=json --outputFile=report.json
 *   npm run docs:backends -- report.json…
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { GENERATED } from '../generated.ts';
import { COLUMNS } from './backend-table.ts';
import { mergeResults, RESULTS, type Report, readResults, resultsOf } from './results.ts';

const PAGE = 'docs/backends.md';

let results = readResults();
for (const path of process.argv.slice(2)) {
  const found = resultsOf(JSON.parse(readFileSync(path, 'utf8')) as Report);
  const known = Object.entries(found).filter(([backend]) => backend in COLUMNS);
  console.log(`${path}: ${known.map(([backend]) => backend).join(', ') || 'no backend of the table'}`);
  results = mergeResults(results, Object.fromEntries(known));
}
writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 2)}\n`);
const page = new URL(`../../../${PAGE}`, import.meta.url);
writeFileSync(page, (GENERATED[PAGE] as (present: string) => string)(readFileSync(page, 'utf8')));
