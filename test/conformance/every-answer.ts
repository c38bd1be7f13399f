/**
 * Checks of every response, whatever the test is about. For the server of this repository a failed check fails its
 * test. For any other server that would report the same difference hundreds of times and nothing else, so there the
 * differences are collected, and form a topic of their own at the end.
 */
import { describe, expect, it } from 'vitest';

export const CHECKS = {
  headers: 'the security headers are there',
  errors: 'an error has its envelope',
  shapes: 'an answer has the fields of its route',
  events: 'the events of a stream have their fields, and are numbered without gaps',
} as const;

/** As many as are worth reading. */
const MAX_EXAMPLES = 3;

let gathered: Map<keyof typeof CHECKS, string[]> | undefined;

export function gatherDifferences(): void {
  gathered = new Map();
}

/** Whether it holds, for what can only be checked then. */
export function checkAnswer(kind: keyof typeof CHECKS, what: string, check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (gathered === undefined) throw error;
    const [line = ''] = (error as Error).message.split('\n');
    gathered.set(kind, [...(gathered.get(kind) ?? []), `${what}: ${line}`]);
    return false;
  }
}

export function describeEveryAnswer(): void {
  describe('every answer', () => {
    it.each(Object.entries(CHECKS))('%s: %s', (kind) => {
      const differences = gathered?.get(kind as keyof typeof CHECKS) ?? [];
      const examples = differences.slice(0, MAX_EXAMPLES).join('; ');
      expect(differences.length, `${differences.length} times, such as ${examples}`).toBe(0);
    });
  });
}
