import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { commandList } from './commands.ts';
import { EXITS } from './exit-codes.ts';

const document = readFileSync(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');

it('docs/cli.md lists exactly the existing exit codes', () => {
  const [, section = ''] = /^## Exit codes\n([\s\S]*?)^## /m.exec(document) ?? [];
  const rows = section.match(/^\| \d+ \|.*$/gm);
  expect(rows).toEqual(Object.values(EXITS).map(({ code, means }) => `| ${code} | ${means} |`));
});

it('docs/cli.md says what every command with --json prints', () => {
  const [, section = ''] = /^## For programs\n([\s\S]*?)^## /m.exec(document) ?? [];
  const named = [...section.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell]) =>
    cell!.match(/[^`, ][^`]*(?=`)/g),
  );
  for (const [, { name, options }] of commandList) {
    const listed = named.includes(name) || (name.startsWith('jobs ') && named.includes('jobs …'));
    expect({ name, listed }).toEqual({ name, listed: 'json' in options });
  }
});
