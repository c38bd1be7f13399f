/**
 * Reads and writes results.json: for each backend and each part of the contract suite, how many tests passed, failed and did
 * not run. The numbers come from vitest's JSON reports, so every run of the suite can be recorded.
 */
import { readFileSync } from 'node:fs';

export const RESULTS = new URL('results.json', import.meta.url);

export interface PartResult {
  passed: number;
  failed: number;
  /** There, but not asked for, or nothing that this backend could show. */
  skipped: number;
}

/** By the name that a backend gives the suite, then by part. */
export type Results = Record<string, Record<string, PartResult>>;

/** What is read of a report. */
export interface Report {
  testResults: readonly {
    assertionResults: readonly { ancestorTitles: readonly string[]; status: string }[];
  }[];
}

const CONTRACT = 'ToolBackend contract: ';
const UNDER_LIMITS = 'ToolBackend under limits: ';
/** The suite that runs apart from the others, because it needs a backend with small limits. */
export const LIMITS = 'limits';

export function readResults(): Results {
  return JSON.parse(readFileSync(RESULTS, 'utf8')) as Results;
}

export function resultsOf({ testResults }: Report): Results {
  const results: Results = {};
  for (const { ancestorTitles, status } of testResults.flatMap((file) => file.assertionResults)) {
    const found = placeOf(ancestorTitles);
    if (!found) continue;
    const parts = results[found.backend] ?? {};
    const part = parts[found.part] ?? { passed: 0, failed: 0, skipped: 0 };
    part[status === 'passed' || status === 'failed' ? status : 'skipped'] += 1;
    parts[found.part] = part;
    results[found.backend] = parts;
  }
  return results;
}

function placeOf(titles: readonly string[]): { backend: string; part: string } | undefined {
  for (const [index, title] of titles.entries()) {
    if (title.startsWith(UNDER_LIMITS)) return { backend: title.slice(UNDER_LIMITS.length), part: LIMITS };
    const part = titles[index + 1];
    if (title.startsWith(CONTRACT) && part !== undefined)
      return { backend: title.slice(CONTRACT.length), part };
  }
  return undefined;
}

/** A part that ran replaces what was known of it; one that did not run replaces nothing. */
export function mergeResults(known: Results, found: Results): Results {
  const merged = structuredClone(known);
  for (const [backend, parts] of Object.entries(found)) {
    const all = merged[backend] ?? {};
    for (const [part, result] of Object.entries(parts))
      if (result.passed + result.failed > 0 || !(part in all)) all[part] = result;
    merged[backend] = all;
  }
  return merged;
}
