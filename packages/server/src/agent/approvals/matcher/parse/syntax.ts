/**
 * The tree the parser builds: only what decides which programs run with which words.
 * Every place where the shell would run something is a Script, so a walk over Scripts misses nothing.
 */
export type Part =
  | { kind: 'text'; text: string; quoted: boolean }
  | Parameter
  /** `$(…)`, backticks, `${ …; }` */
  | { kind: 'output'; script: Script; quoted: boolean }
  /** `$((…))`: its text is also kept as a script, because other shells run it as one */
  | { kind: 'arithmetic'; script: Script; quoted: boolean }
  /** `<(…)`, or `>(…)` when `reads` */
  | { kind: 'process'; script: Script; quoted: boolean; reads: boolean };

export interface Parameter {
  kind: 'parameter';
  name: string;
  quoted: boolean;
  /** `${!name}` */
  indirect: boolean;
  /** `${name[index]}` */
  index: Word | undefined;
  /** `:-`, `#`, `//` …; empty for a plain expansion; `length` for `${#name}` */
  operator: string;
  argument: Word;
}

export type Word = Part[];

export interface Redirect {
  operator: string;
  fd: string | undefined;
  target: Word;
  /** the text of a here-document */
  body: Word | undefined;
}

export interface Assignment {
  name: string;
  index: boolean;
  append: boolean;
  value: Word;
  /** the elements of `name=(…)` */
  items: Word[] | undefined;
}

export interface SimpleCommand {
  kind: 'simple';
  assignments: Assignment[];
  words: Word[];
  redirects: Redirect[];
}

export interface CompoundCommand {
  kind: 'compound';
  form: 'group' | 'subshell' | 'branch' | 'loop' | 'arithmetic' | 'test';
  /** the variable a `for` sets, from `words`; undefined words mean `"$@"` */
  variable: string | undefined;
  words: Word[] | undefined;
  bodies: Script[];
  redirects: Redirect[];
}

export interface FunctionDefinition {
  kind: 'function';
  name: string;
  body: Command;
}

export type Command = SimpleCommand | CompoundCommand | FunctionDefinition;

export interface Pipeline {
  stages: Command[];
  /** reached through `&&` or `||`, so it may not run */
  conditional: boolean;
  background: boolean;
}

export type Script = Pipeline[];

export type Problem = 'unparsable command' | 'command too complex to inspect';

/** The text of a word that is one unquoted literal; reserved words count only in this form. */
export function plainText(word: Word): string | undefined {
  const part = word[0];
  return word.length === 1 && part?.kind === 'text' && !part.quoted ? part.text : undefined;
}
