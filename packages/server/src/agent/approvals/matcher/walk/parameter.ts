/**
 * The values of `$name` and `${name…}`, as far as this command line shows them. Operators that transform a text are
 * not computed: their result is unknown, and HIDDEN where it could be an option or a path on purpose.
 */
import type { Parameter, Word } from '../parse/syntax.ts';
import { ENV, HIDDEN, HOME, hasHole } from './marks.ts';
import type { Scope, Value } from './scope.ts';

export interface ParameterValues {
  /** Every value it may have. */
  values: readonly Value[];
  /** Each element is its own field even inside quotes (`"$@"`). */
  separate: boolean;
}

export function parameterValues(
  part: Parameter,
  scope: Scope,
  expand: (word: Word) => string,
): ParameterValues {
  const index = part.index && expand(part.index);
  const argument = expand(part.argument);
  const separate = part.name === '@' || index === '@';
  const values = part.indirect ? indirect(part, scope, index) : elementsOf(part.name, scope, index);
  return { values: operate(part, values, argument, scope), separate };
}

function indirect(part: Parameter, scope: Scope, index: string | undefined): readonly Value[] {
  const names = index === undefined ? (scope.lookup(part.name) ?? []) : [];
  const [name] = names[0] ?? [];
  // `${!names[@]}` and `${!prefix*}` list indices and names.
  if (name === undefined) return [[ENV]];
  return names.length === 1 && !hasHole(name) ? elementsOf(name, scope, undefined) : [[HIDDEN]];
}

function elementsOf(name: string, scope: Scope, index: string | undefined): readonly Value[] {
  if (name === '@' || name === '*') return [scope.positional ?? [ENV]];
  if (/^[1-9][0-9]*$/.test(name))
    return [[scope.positional ? (scope.positional[Number(name) - 1] ?? '') : ENV]];
  const values = scope.lookup(name);
  if (values === undefined) return [[unset(name, scope)]];
  if (index === '@' || index === '*') return values;
  const at = index === undefined ? 0 : /^\d{1,4}$/.test(index) ? Number(index) : undefined;
  return values.map((value) => [at === undefined ? HIDDEN : (value[at] ?? '')]);
}

/** Variables that have a known value in every shell; the others belong to the environment. */
function unset(name: string, scope: Scope): string {
  switch (name) {
    case 'HOME':
      return HOME;
    case 'IFS':
      return ' ';
    case 'SHELL':
    case 'BASH':
      return 'bash';
    case '0':
      return scope.zero ?? 'bash';
    // The last word of the command before, whatever that was.
    case '_':
      return HIDDEN;
    // Twice, so that more of it can be told from another one.
    case 'PATH':
      return ENV + ENV;
    case 'PWD':
      return scope.cwd ?? ENV;
    default:
      return ENV;
  }
}

function operate(
  part: Parameter,
  values: readonly Value[],
  argument: string,
  scope: Scope,
): readonly Value[] {
  const { operator } = part;
  const [first = []] = values;
  const unknown = values.length === 1 && /^\uE000+$/.test(first.join(''));
  const empty = values.length === 1 && first.join('') === '';
  switch (operator.replace(':', '') || operator) {
    case '':
    case '?':
      return values;
    case '-':
    case '=':
      if (operator.endsWith('=') && (unknown || empty)) scope.assign(part.name, [argument]);
      return unknown || empty ? [[argument]] : values;
    case '+':
      return empty ? values : [[argument]];
    case 'length':
      return [[ENV]];
    case '@':
      // The value is expanded as a prompt: what it quotes is run.
      if (argument !== 'Q' && argument !== 'a') scope.report('text evaluated again');
      return argument === 'Q' ? values : [[HIDDEN]];
  }
  // Any part of the separators is still only separators.
  if (part.name === 'IFS') return [[' ']];
  const text = values.flat().join(' ') + argument;
  scope.budget.charge(text.length);
  const harmless =
    !text.includes(HIDDEN) && (hasHole(text) || /[\uE006\uE007]/.test(text) || !/[-/]/.test(text));
  return [[harmless ? ENV : HIDDEN]];
}
