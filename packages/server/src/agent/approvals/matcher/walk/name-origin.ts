/**
 * Whether the name of a program is written in the command line, or comes out of an expansion.
 */
import type { Family } from '../families.ts';
import type { Part, Word } from '../parse/syntax.ts';
import { DECODED, hasGlob, hasHole, REMOTE } from './marks.ts';
import type { Scope } from './scope.ts';

const HIDDEN_NAME = 'command hidden behind expansion';

/** Why the name in `word`, which expands to `fields`, cannot be relied on; undefined when it can. */
export function nameOrigin(word: Word, fields: string[], scope: Scope): Family | undefined {
  const [name = ''] = fields;
  if (name.includes(REMOTE)) scope.report('execute remote script via substitution');
  if (name.includes(DECODED)) scope.report('pipe decoded content to shell');
  if (/[\uE001\uE003\uE004]/.test(name) || hasGlob(name)) return HIDDEN_NAME;
  if (word.every((part) => part.kind === 'text'))
    return hasHole(name) && !isBelow(name) ? HIDDEN_NAME : undefined;
  // `$VIRTUAL_ENV/bin/python`: the place varies, the program is named.
  if (hasHole(name)) return isBelow(name) ? undefined : HIDDEN_NAME;
  return word.every((part) => isPlain(part, scope)) ? undefined : HIDDEN_NAME;
}

function isBelow(name: string): boolean {
  const at = name.lastIndexOf('/');
  return at > 0 && at < name.length - 1 && !hasHole(name.slice(at)) && !/^\/(?:dev|proc)\//.test(name);
}

/** A default, a shell, or a variable that was given one value in plain sight. */
function isPlain(part: Part, scope: Scope): boolean {
  if (part.kind === 'text') return true;
  // `$(which tool)` prints where the tool is.
  if (part.kind === 'output') return isLookup(part.script);
  if (part.kind !== 'parameter' || part.indirect || part.index) return false;
  if (/^(?:SHELL|BASH|0|HOME|PWD)$/.test(part.name)) return true;
  const values = scope.lookup(part.name);
  if (values === undefined) return /^:?[-=]$/.test(part.operator);
  return part.operator === '' && values.length === 1 && values[0]!.length === 1;
}

function isLookup(script: { stages: { kind: string; words?: Word[] | undefined }[] }[]): boolean {
  const words = script[0]?.stages[0]?.words ?? [];
  const [first, second] = words.map((word) => (word[0]?.kind === 'text' ? word[0].text : ''));
  return script.length === 1 && (first === 'which' || (first === 'command' && second === '-v'));
}
