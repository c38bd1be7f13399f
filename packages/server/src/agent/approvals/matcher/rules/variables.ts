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
  evaluate(value, host);
  const fate = VARIABLES.find(({ names }) => names.test(name));
  if (fate === undefined || value === '' || fate.allowed?.test(value)) return;
  if (fate.runs) {
    if (isPlainProgram(value, host)) return;
  } else {
    neverOnly(host, () => host.code(value, 'argument'));
  }
  scope.report('variable that changes what runs');
}

const STARTS_OTHERS =
  /^(?:\S*\/)?(?:(?!ssh\b)\w*sh|env|eval|exec|command|xargs|busybox|python\S*|perl|ruby|node|php|lua|awk|sed)(?:\s|$)/;

/**
 * Whether a program that something else will start, with a file as its argument, is a known one of the system and would
 * ask nothing. A shell, an interpreter or a program of the workspace is not: what it is started for cannot be seen.
 */
export function isPlainProgram(value: string, host: Host): boolean {
  const before = scopeSize(host);
  host.code(`${value} /tmp/file`, 'argument');
  const asks = scopeSize(host) > before;
  const path = /^\S*\//.exec(value)?.[0];
  const elsewhere = path !== undefined && !/^\/(?:usr\/)?(?:local\/)?bin\/$/.test(path);
  const shell = STARTS_OTHERS.test(value) && !/^\/(?:usr\/)?bin\/\w*sh$/.test(value);
  return !asks && !elsewhere && !shell;
}

function scopeSize({ scope }: Host): number {
  return scope.keys.size;
}

/** A word that the shell evaluates once more: commands in it ask, and some never run. */
export function evaluate(word: string, host: Host): void {
  if (!LOADED.test(word)) return;
  host.scope.report('text evaluated again');
  neverOnly(host, () => host.code(word, 'argument'));
}
