/**
 * Assignments: most variables are settings that programs read; some decide which program or code runs.
 */
import { VARIABLES } from '../programs/variables.ts';
import type { Host } from './call.ts';
import { neverOnly } from './never.ts';

/** Text that is run when its variable is used in arithmetic, as a prompt or as the name of another. */
const LOADED = /\$\(|`|\$\{[^}]*[@(`]/;

export function assignVariable(name: string, value: string, host: Host): void {
  const { scope } = host;
  scope.budget.charge(value.length);
  if (LOADED.test(value)) scope.report('text evaluated again');
  const fate = VARIABLES.find(({ names }) => names.test(name));
  if (fate === undefined || value === '' || fate.allowed?.test(value)) return;
  if (fate.runs) {
    const before = scope.keys.size;
    host.code(value, 'argument');
    if (scope.keys.size === before) return;
  } else {
    neverOnly(host, () => host.code(value, 'argument'));
  }
  scope.report('variable that changes what runs');
}

/** Whether a word that some builtins evaluate holds commands in quotes. */
export function isLoaded(word: string): boolean {
  return LOADED.test(word);
}
