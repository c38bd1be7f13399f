/**
 * Judges one command of a known program: its arguments against its row in the tables.
 */
import { ARGUMENT_COST } from '../budget.ts';
import { NEVER } from '../families.ts';
import { PROGRAMS } from '../programs/index.ts';
import type { Fate, Program } from '../programs/table.ts';
import { ENV, hasHole } from '../walk/marks.ts';
import { printed } from '../walk/output.ts';
import type { Scope } from '../walk/scope.ts';
import { readArguments } from './arguments.ts';
import type { Call } from './call.ts';
import { KINDS } from './kinds.ts';
import { findNever, findNeverIn } from './never.ts';
import { deviceAt, wipes } from './paths.ts';
import { REST } from './rest.ts';
import { SPECIAL } from './special.ts';

/** `key` is the row: the name of the program, or with its subcommand. Returns what the command prints. */
export function judge(call: Call, key: string, program: Program): string {
  const { host } = call;
  const { scope } = host;
  scope.budget.charge(ARGUMENT_COST * call.args.length);
  const opaque = scope.opaque;
  const given = readArguments(call.args, program);
  const runs = given.rest !== undefined && given.rest.kind !== 'sub' && given.rest.kind !== 'texts';
  if (given.harmless && !runs) return printed(call, 'text', []);
  if (given.unknown.length > 0) scope.report('unknown option or argument');
  if (given.hidden && program.risky) scope.report('command hidden behind expansion');
  for (const fate of fatesOf(call, program)) suffer(fate, scope);
  if (program.stdin && call.input) findNever(call.input.text, host);
  for (const { option, value } of given.options) {
    suffer(option, scope);
    if (option.value !== undefined && value !== undefined) KINDS[option.value]?.(value, call);
  }
  // Such a value may name a file that the program reads.
  for (const value of given.values) KINDS.read!(value, call);
  if (program.disk && call.args.some((arg) => deviceAt(arg, scope.cwd) === 'disk')) {
    if (scope.keys.has('format filesystem')) scope.never = NEVER.disk;
  }
  if (scope.opaque > opaque) findNeverIn(call.args, host);
  given.operands.forEach((operand, i) => {
    KINDS[given.kinds[i]!]?.(operand, call);
  });
  if (given.options.some(({ option }) => option.finding === 'recursive delete')) {
    const changed = given.operands.filter((_, i) => /^(?:delete|write)$/.test(given.kinds[i]!));
    if (changed.some((operand) => wipes(operand, scope.cwd))) scope.never = NEVER.wipe;
  }
  if (program.rule !== undefined) {
    const output = SPECIAL[program.rule]?.(call, given);
    if (typeof output === 'string') return output;
  }
  if (given.rest?.kind === 'sub') return judgeSub(call, key, given.rest.words);
  if (given.rest?.kind === 'texts') return printed(call, program.prints, given.rest.words);
  if (given.rest) return REST[given.rest.kind]!(call, given.rest.words, given);
  return printed(call, program.prints, given.operands);
}

function fatesOf({ args, input }: Call, { fates, when, stdin }: Program): Fate[] {
  const met = when.filter(({ pattern }) => args.some((arg) => pattern.test(arg))).map(({ fate }) => fate);
  const fed = stdin !== undefined && input !== undefined && input.text !== ENV;
  return [...fates, ...met, ...(fed ? [stdin] : [])];
}

function suffer({ finding, never }: Fate, scope: Scope): void {
  if (finding) scope.report(finding);
  if (never) scope.never = never;
}

function judgeSub(call: Call, key: string, words: string[]): string {
  const [sub = '', ...args] = words;
  const name = `${key} ${sub}`;
  const program = PROGRAMS.get(name) ?? PROGRAMS.get(`${key} *`);
  if (program === undefined) {
    const reason = hasHole(sub) ? 'command hidden behind expansion' : 'unknown option or argument';
    call.host.scope.report(reason);
    return '';
  }
  return judge({ ...call, args }, name, program);
}
