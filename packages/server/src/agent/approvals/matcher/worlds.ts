/**
 * Walks a command once for every combination of the values its variables may have.
 */
import type { Scope } from './scope.ts';

// Two nested loops over 30 words each still fit.
const MAX_COMBINATIONS = 1_024;
const MAX_ROUNDS = 3;

/** Returns what the first walk printed; a nested call takes part in the walk under way. */
export function inEveryWorld(scope: Scope, walk: () => string): string {
  if (scope.picks) return walk();
  scope.used.clear();
  scope.picks = new Map();
  const output = walk();
  let walked = 0;
  // A walk with other values may meet other variables or assign more values, hence the rounds.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const known = [...scope.used.values()].reduce((sum, count) => sum + count, 0);
    if (known === walked) break;
    walked = known;
    walkCombinations(scope, [...scope.used], walk);
  }
  scope.picks = undefined;
  return output;
}

function walkCombinations(scope: Scope, used: [string, number][], walk: () => string): void {
  const total = used.reduce((product, [, count]) => product * count, 1);
  if (total > MAX_COMBINATIONS) scope.report('command too complex to inspect');
  scope.conditional++;
  for (let n = 1; n < Math.min(total, MAX_COMBINATIONS) && !scope.never; n++) {
    let rest = n;
    for (const [name, count] of used) {
      scope.picks!.set(name, rest % count);
      rest = Math.floor(rest / count);
    }
    walk();
  }
  scope.conditional--;
}
