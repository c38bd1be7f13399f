/**
 * Compound commands: groups, subshells, branches, loops, tests, functions.
 * A construct that is never closed is recorded as a problem; the commands in it are kept.
 */
import { parseRedirect, skipNewlines } from './pieces.ts';
import type { Source } from './source.ts';
import { type Command, type CompoundCommand, plainText, type Script, type Word } from './syntax.ts';
import { readWord, skipBlanks } from './words.ts';

/** The rules of lists.ts that this file needs, handed in so that the files do not import each other. */
export interface Grammar {
  list: (source: Source, script: Script) => void;
  command: (source: Source) => Command | undefined;
}

const COPROC_NAME = /[A-Za-z_][A-Za-z0-9_]*[ \t]+(?=[{(]|(?:while|until|if|for|case)\b)/y;

/** The compound command that `keyword` (already read, except for `(`) begins; undefined if it begins none. */
export function parseCompound(
  source: Source,
  keyword: string,
  grammar: Grammar,
  name?: string,
): Command | undefined {
  switch (keyword) {
    case '(':
      return source.nested(() => parseParentheses(source), undefined);
    case '{':
      return compound(source, 'group', [source.script('}', source.arithmetic)]);
    case 'if':
      return compound(source, 'branch', parseBodies(source, grammar, 'fi', ['then', 'elif', 'else']));
    case 'while':
    case 'until':
      return compound(source, 'loop', parseBodies(source, grammar, 'done', ['do']));
    case 'for':
    case 'select':
      return parseFor(source, grammar);
    case 'case':
      return parseCase(source, grammar);
    case 'function':
      return parseFunction(source, grammar, name);
    case '[[':
      return parseTest(source);
    case '!':
    case 'time':
    case 'coproc':
      return parsePrefixed(source, grammar, keyword);
    default:
      return undefined;
  }
}

function compound(
  source: Source,
  form: CompoundCommand['form'],
  bodies: Script[],
  words?: Word[],
  variable?: string,
): CompoundCommand {
  const command: CompoundCommand = { kind: 'compound', form, variable, words, bodies, redirects: [] };
  do skipBlanks(source);
  while (parseRedirect(source, command.redirects));
  return command;
}

/** `(…)`, or `((…))`, which bash takes as arithmetic only when it ends in `))`. */
function parseParentheses(source: Source): Command {
  source.pos++;
  if (source.text[source.pos] !== '(') return compound(source, 'subshell', [source.script(')')]);
  source.pos++;
  const body = source.script(')', true);
  if (source.peek() === ')') {
    source.pos++;
    return compound(source, 'arithmetic', [body]);
  }
  source.fail('unparsable command');
  return compound(source, 'subshell', [body, source.script(')')]);
}

/** Lists separated by `between` keywords, up to and including `end`. */
function parseBodies(source: Source, grammar: Grammar, end: string, between: string[]): Script[] {
  return source.nested(() => {
    const bodies: Script[] = [];
    for (;;) {
      const body: Script = [];
      bodies.push(body);
      for (;;) {
        grammar.list(source, body);
        const keyword = source.pushed && plainText(source.pushed);
        source.pushed = undefined;
        if (keyword === end) return bodies;
        if (keyword !== undefined && between.includes(keyword)) break;
        source.fail('unparsable command');
        if (source.peek() === ';') source.pos++;
        else if (keyword === undefined) return bodies;
      }
    }
  }, []);
}

function parseFor(source: Source, grammar: Grammar): Command {
  skipBlanks(source);
  if (source.peek() === '(') {
    const head = source.nested(() => parseParentheses(source), undefined);
    const loop = compound(source, 'loop', parseLoopBody(source, grammar));
    const stages = head ? [head, loop] : [loop];
    const bodies = stages.map((stage) => [{ stages: [stage], conditional: false, background: false }]);
    return { kind: 'compound', form: 'group', variable: undefined, words: undefined, bodies, redirects: [] };
  }
  const variable = plainText(readWord(source) ?? []);
  skipNewlines(source);
  let words: Word[] | undefined;
  const next = readWord(source);
  if (next && plainText(next) === 'in') {
    words = [];
    for (;;) {
      skipBlanks(source);
      const word = readWord(source);
      if (!word) break;
      words.push(word);
    }
  } else {
    source.pushed = next;
  }
  return compound(source, 'loop', parseLoopBody(source, grammar), words, variable ?? '');
}

/** `do … done`, or the brace form; separators before `do` are skipped by the list rule. */
function parseLoopBody(source: Source, grammar: Grammar): Script[] {
  if (!source.pushed) {
    skipNewlines(source);
    if (source.peek() === ';') source.pos++;
    skipNewlines(source);
    if (source.peek() === '{') {
      const command = source.nested(() => grammar.command(source), undefined);
      return command ? [[{ stages: [command], conditional: false, background: false }]] : [];
    }
  }
  return parseBodies(source, grammar, 'done', ['do']);
}

function parseCase(source: Source, grammar: Grammar): Command {
  skipBlanks(source);
  const words = [readWord(source) ?? []];
  const bodies: Script[] = [];
  skipNewlines(source);
  const keyword = readWord(source);
  if (!keyword || plainText(keyword) !== 'in') {
    source.fail('unparsable command');
    source.pushed = keyword;
  }
  source.nested(() => parseCaseItems(source, grammar, words, bodies), undefined);
  return compound(source, 'branch', bodies, words);
}

function parseCaseItems(source: Source, grammar: Grammar, words: Word[], bodies: Script[]): void {
  for (;;) {
    skipNewlines(source);
    if (source.peek() === '(') source.pos++;
    for (let first = true; ; first = false) {
      skipBlanks(source);
      const word = readWord(source);
      if (word && first && plainText(word) === 'esac') return;
      if (word) words.push(word);
      else if (source.peek() === '|') source.pos++;
      else break;
    }
    if (source.peek() !== ')') {
      source.fail('unparsable command');
      if (source.atEnd) return;
    }
    source.pos++;
    const body: Script = [];
    bodies.push(body);
    grammar.list(source, body);
    if (source.pushed) {
      const esac = plainText(source.pushed) === 'esac';
      source.pushed = undefined;
      if (esac) return;
      source.fail('unparsable command');
    }
    while (source.peek() === ';' || source.peek() === '&') source.pos++;
    if (source.atEnd) {
      source.fail('unparsable command');
      return;
    }
  }
}

function parseFunction(source: Source, grammar: Grammar, known: string | undefined): Command {
  let name = known;
  if (name === undefined) {
    skipBlanks(source);
    name = plainText(readWord(source) ?? []) ?? '';
    skipBlanks(source);
    source.take(/\([ \t]*\)/y);
  }
  skipNewlines(source);
  // zsh accepts `f(){cmd}` and bash does not. The body is parsed in any case.
  const tight = source.peek() === '{' && !/\s/.test(source.peekSecond());
  if (tight) source.pos++;
  const body = tight
    ? compound(source, 'group', [source.script('}')])
    : source.nested(() => grammar.command(source), undefined);
  if (!body) source.fail('unparsable command');
  return { kind: 'function', name, body: body ?? compound(source, 'group', []) };
}

/**
 * `[[ … ]]`. Shells without it run `[[` as a program and split at `&&`, `||`, `;` and newlines, so each
 * stretch after the first is kept as a command too; `;` ends the test in every shell.
 */
function parseTest(source: Source): Command {
  const words: Word[] = [];
  const rest: Script = [];
  let stretch: Word[] = words;
  for (;;) {
    skipBlanks(source);
    const c = source.peek();
    if (c === '' || c === ';') {
      source.fail('unparsable command');
      break;
    }
    if (c === '\n') {
      skipNewlines(source);
    } else if ('&|<>()'.includes(c) && !(source.peekSecond() === '(' && '<>'.includes(c))) {
      source.pos++;
      if (!'&|'.includes(c)) continue;
    } else {
      const word = readWord(source);
      if (!word) source.pos++;
      else if (plainText(word) === ']]') break;
      else stretch.push(word);
      continue;
    }
    stretch = [];
    rest.push({
      stages: [{ kind: 'simple', assignments: [], words: stretch, redirects: [] }],
      conditional: true,
      background: false,
    });
  }
  return compound(source, 'test', [rest], words);
}

/** `!`, `time` and `coproc` leave what they run unchanged. */
function parsePrefixed(source: Source, grammar: Grammar, keyword: string): Command | undefined {
  skipBlanks(source);
  if (keyword === 'time') source.take(/-p(?=\s)/y);
  // `time -f` is the program of that name in other shells.
  if (keyword === 'time' && source.peek() === '-') return undefined;
  if (keyword === 'coproc') source.take(COPROC_NAME);
  return source.nested(() => grammar.command(source), undefined);
}
