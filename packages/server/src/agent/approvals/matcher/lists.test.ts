/**
 * How often the gate is wrong, on commands that its tables were not written for. A list has a command a line; a line of
 * `dangerous.txt` and `everyday.txt` belongs to one of two halves by its hash. The tables were adjusted to the first half
 * alone, so the second one measures them: docs/approvals.md states its numbers, and a test here compares them. The
 * `-seen` lists were written later and measured once. Then the tables were adjusted to all of their commands.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { classifyCommand } from './classify.ts';

/** Newlines inside a command are written so. */
const NEWLINE = '⏎';

function listed(name: string): string[] {
  const text = readFileSync(new URL(`./testing/lists/${name}.txt`, import.meta.url), 'utf8');
  return text.split('\n').filter((line) => line !== '');
}

function halves(name: string): [string[], string[]] {
  const lines = listed(name);
  const isSecond = (line: string) => (createHash('sha256').update(line).digest()[0] ?? 0) % 2 === 1;
  return [lines.filter((line) => !isSecond(line)), lines.filter(isSecond)];
}

const isAllowed = (line: string) => classifyCommand(line.replaceAll(NEWLINE, '\n')).kind === 'allow';

describe('dangerous and disguised commands', () => {
  const [tuned, unseen] = halves('dangerous');

  it('of the half that the tables were tuned on are all stopped', () => {
    expect([...tuned, ...listed('dangerous-seen')].filter(isAllowed)).toEqual([]);
  });

  it('of the other half are stopped, at least 95 in 100', () => {
    const missed = unseen.filter(isAllowed);
    expect(missed.length / unseen.length, missed.join('\n')).toBeLessThanOrEqual(0.05);
  });
});

describe('everyday commands of software work', () => {
  const [tuned, unseen] = halves('everyday');

  it('of the half that the tables were tuned on never ask', () => {
    expect([...tuned, ...listed('everyday-seen')].filter((line) => !isAllowed(line))).toEqual([]);
  });

  it('of the other half ask, at most 5 in 100', () => {
    const asked = unseen.filter((line) => !isAllowed(line));
    expect(asked.length / unseen.length, asked.join('\n')).toBeLessThanOrEqual(0.05);
  });
});

it('docs/approvals.md states these numbers', () => {
  const [, dangerous] = halves('dangerous');
  const [, everyday] = halves('everyday');
  const stopped = dangerous.filter((line) => !isAllowed(line)).length;
  const asked = everyday.filter((line) => !isAllowed(line)).length;
  const sentence =
    `- ${percent(stopped / dangerous.length)} of ${dangerous.length} dangerous and disguised commands are stopped.\n` +
    `- ${percent(asked / everyday.length)} of ${everyday.length} everyday commands ask.`;
  const docs = readFileSync(new URL('../../../../../../docs/approvals.md', import.meta.url), 'utf8');
  expect(docs).toContain(`<!-- measured:begin -->\n${sentence}\n<!-- measured:end -->`);
});

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
