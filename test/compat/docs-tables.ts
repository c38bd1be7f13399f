/**
 * `npm run docs:clients`: writes the tables of docs/clients.md from the recorded test results, or with --check reports
 * where the page differs. Every mark in them is a test's result.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { APIS, CLIENTS, FEATURES, type Language } from './features.ts';
import { type ClientResult, readClients, readServers, type ServerResult } from './results.ts';

const PAGE = fileURLToPath(new URL('../../docs/clients.md', import.meta.url));
const OWN = 'talaria';

export function clientTable(clients: readonly ClientResult[]): string {
  const header = ['', ...clients.map(({ name, version }) => `${name} ${version}`)];
  const rows = FEATURES.map((feature) => [feature, ...clients.map((client) => cell(client, feature))]);
  return table(header, rows);
}

/**
 * The APIs with which it works for the client; struck out if it should work but does not; empty if no test tries it.
 */
function cell({ shown }: ClientResult, feature: string): string {
  const marks = APIS.flatMap((api) => {
    const found = shown.find(({ capability }) => capability === `${api}: ${feature}`);
    if (found === undefined) return [];
    return found.ok ? [api] : [`~~${api}~~`];
  });
  return marks.join(', ');
}

export function serverTable(servers: readonly ServerResult[]): string {
  const ordered = servers.toSorted((a, b) => Number(b.name === OWN) - Number(a.name === OWN));
  const names = [...new Set(ordered.flatMap(({ topics }) => topics.map(({ topic }) => topic)))];
  const rows = names.map((name) => [
    name,
    ...ordered.map(({ topics }) => {
      const topic = topics.find((candidate) => candidate.topic === name);
      if (topic === undefined || topic.passed + topic.failed === 0) return '';
      return `${topic.passed} of ${topic.passed + topic.failed}`;
    }),
  ]);
  return table(['', ...ordered.map(({ name, version }) => `${name} ${version}`)], rows);
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

export function replaceBetween(page: string, marker: string, text: string): string {
  const [begin, end] = [`<!-- ${marker}:begin -->`, `<!-- ${marker}:end -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to === -1) throw new Error(`docs/clients.md has no markers ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`;
}

/** Undefined for those of which not everything ran here. */
function tables(): Record<Language | 'servers', string | undefined> {
  const results = readClients();
  const ofLanguage = (language: Language) => {
    const clients = CLIENTS[language].map((id) => results.find((result) => result.id === id));
    return clients.every((client) => client !== undefined) ? clientTable(clients) : undefined;
  };
  const servers = readServers();
  return {
    JavaScript: ofLanguage('JavaScript'),
    Python: ofLanguage('Python'),
    servers: servers.length === 2 ? serverTable(servers) : undefined,
  };
}

function main(): void {
  const check = process.argv.includes('--check');
  const page = readFileSync(PAGE, 'utf8');
  let written = page;
  for (const [marker, text] of Object.entries(tables())) {
    // The number of tests of a topic changes with each new test; that alone does not make the page outdated.
    if (check && marker === 'servers') continue;
    if (text !== undefined) written = replaceBetween(written, marker, text);
    else console.log(`The table "${marker}" is left as it is: not all of its tests have run here`);
  }
  if (!check) writeFileSync(PAGE, written);
  if (!check || written === page) return;
  console.error(
    'docs/clients.md is not what the tests have shown. Run "npm run docs:clients" and commit it.',
  );
  process.exitCode = 1;
}

if (import.meta.main) main();
