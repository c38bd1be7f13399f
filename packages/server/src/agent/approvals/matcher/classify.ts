/**
 * Decides whether a shell command may run, must be approved, or never runs. Pure: no I/O, no clock.
 *
 * Invariants
 * - It never throws and takes time about linear in the length; what exceeds its limits asks.
 * - It judges what the shell would run, not how it is written: quoting, wrappers, variables, pipes and
 *   substitutions are followed; text that is only printed, searched for or recorded is not a command.
 * - Uncertainty asks. A reading may add findings, none removes one.
 *
 * What it cannot see, by design: scripts and programs on disk that this line did not write, code in other
 * languages (which therefore asks), the values of environment variables, and side doors that need a file
 * prepared before (BASH_ENV, LD_PRELOAD, git hooks, makefiles).
 *
 * never: wipes the root, a system directory or a home (rules/delete.ts, paths.ts); formats or overwrites
 * a disk (rules/disk.ts); fork bomb (bombs.ts); shuts the machine down (rules/processes.ts).
 * ask: the families in families.ts. The tables at the head of those files draw the lines between the two.
 */
import { FAMILIES } from './families.ts';
import { readings } from './normalise.ts';
import { Scope } from './scope.ts';
import { Shell } from './shell.ts';

export type Verdict =
  | { kind: 'allow' }
  /** every family matched, the most severe first, without duplicates */
  | { kind: 'ask'; keys: [string, ...string[]] }
  /** never runs and never asks */
  | { kind: 'never'; reason: string };

/** Every key a verdict can carry, the most severe first. */
export const PATTERN_KEYS: readonly string[] = FAMILIES;

// Commands examined and characters parsed for one verdict, over all nested texts: far above any real
// command, and low enough that hostile input is refused within a fraction of a second.
const MAX_STEPS = 20_000;
const MAX_CHARACTERS = 3_000_000;

/** `after`: what ran before in the same shell, the oldest first. It explains the command and is not judged itself. */
export function classifyCommand(command: string, after: readonly string[] = []): Verdict {
  const limits = { commands: MAX_STEPS, steps: MAX_STEPS, characters: MAX_CHARACTERS };
  const found = new Set<string>();
  for (const text of readings(command)) {
    const scope = new Scope(limits);
    try {
      const shell = new Shell(scope);
      for (const earlier of after) shell.recall(earlier);
      shell.walk(text);
    } catch {
      // The walk has bounds for everything known; a limit of the JS engine itself shall ask, not crash a run.
      scope.report('command too complex to inspect');
    }
    if (scope.never) return { kind: 'never', reason: scope.never };
    for (const key of scope.keys) found.add(key);
  }
  const [first, ...rest] = FAMILIES.filter((family) => found.has(family));
  return first === undefined ? { kind: 'allow' } : { kind: 'ask', keys: [first, ...rest] };
}
