import { expect, test } from 'vitest';
import type { Fact } from './facts.ts';
import { Telemetry } from './telemetry.ts';

const FACT: Fact = { fact: 'journal.commit', durationMs: 1, records: 1, failed: false };

test('an observer that throws harms neither the work nor the others, and is logged once', () => {
  const logged: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (_: object, text: string) => logged.push(text) };
  const heard: Fact[] = [];
  const telemetry = new Telemetry(log);
  telemetry.add(() => {
    throw new Error('broken');
  });
  telemetry.add((fact) => heard.push(fact));
  telemetry.report(FACT);
  telemetry.report(FACT);
  expect(heard).toEqual([FACT, FACT]);
  expect(logged).toEqual(['measuring failed; further failures are not logged']);
});
