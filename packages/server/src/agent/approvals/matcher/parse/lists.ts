/**
 * A tolerant parser of bash command lines.
 *
 * Why not a library: a gate must read malformed text without throwing, keep the quoting of every
 * character, and stay linear on hostile input. `shell-quote` drops quoting and substitutions,
 * `sh-syntax` is WASM that rejects malformed text, and `unbash`, which is tolerant and complete,
 * needs 47 s for 100 KB of `{`.
 *
 * Where shells or versions disagree the parser takes the reading in which more text is a command.
 */
import { WORD_COST } from '../budget.ts';
import { parseCompound } from './compound.ts';
import { parseAssignment, parseRedirect, skipComment, skipNewlines } from './pieces.ts';
import { type Closer, Source, type SourceContext } from './source.ts';
import { type Command, type Pipeline, plainText, type Script, type SimpleCommand } from './syntax.ts';
import { readWord, skipBlanks } from './words.ts';

const EMPTY_PARENS = /\([ \t]*\)/y;
const DECLARING = new Set(['declare', 'typeset', 'local', 'export', 'readonly']);
const LIST_ASSIGNMENT = /[A-Za-z_][A-Za-z0-9_]*\+?=\(/y;
const CLOSING_WORDS = new Set(['then', 'elif', 'else', 'fi', 'do', 'done', 'esac', '}']);
const GRAMMAR = { list: parseList, command: parseCommand };

export function parse(text: string, context: Omit<SourceContext, 'parseScript'>): Script {
  return new Source(text, { ...context, parseScript }).script('');
}

/** Commands up to and including `closer`, or to the end of the text. */
function parseScript(source: Source, closer: Closer): Script {
  const script: Script = [];
  for (;;) {
    source.charge(WORD_COST);
    parseList(source, script);
    if (source.pushed) {
      const closed = closer === '}' && plainText(source.pushed) === '}';
      source.pushed = undefined;
      if (closed) return script;
      source.fail('unparsable command');
    } else if (source.peek() === ')') {
      source.pos++;
      if (closer === ')') return script;
      source.fail('unparsable command');
    } else if (source.peek() === ';') {
      source.fail('unparsable command'); // `;;` outside a case
      source.pos++;
    } else {
      if (closer !== '' || source.heredocs.length > 0) source.fail('unparsable command');
      return script;
    }
  }
}

/** Commands up to a closing keyword (left in `source.pushed`), `)`, `;;` or the end; the caller judges which. */
function parseList(source: Source, script: Script): void {
  let conditional = false;
  for (;;) {
    skipSeparators(source);
    const c = source.peek();
    if (c === '' || c === ')' || c === ';') return;
    const start = source.pos;
    const pipeline: Pipeline = { stages: [], conditional, background: false };
    conditional = false;
    parseStages(source, pipeline);
    if (pipeline.stages.length > 0) script.push(pipeline);
    if (source.pushed) return;
    skipBlanks(source);
    const end = source.peek();
    if (end === '&') {
      conditional = source.peekSecond() === '&';
      pipeline.background = !conditional;
      source.pos += conditional ? 2 : 1;
    } else if (end === '|') {
      conditional = true;
      source.pos += source.peekSecond() === '|' ? 2 : 1;
    }
    // A character no rule consumed.
    if (source.pos === start) source.pos++;
  }
}

/** Newlines, comments and single `;`; a `;;` or `;&` is left for the case that owns it. */
function skipSeparators(source: Source): void {
  for (;;) {
    skipNewlines(source);
    if (source.peek() !== ';') return;
    const next = source.peekSecond();
    if (next === ';' || next === '&') return;
    source.pos++;
  }
}

function parseStages(source: Source, pipeline: Pipeline): void {
  for (;;) {
    const command = parseCommand(source);
    if (command) pipeline.stages.push(command);
    if (source.pushed) return;
    skipBlanks(source);
    if (source.peek() !== '|' || source.peekSecond() === '|') return;
    source.pos += source.peekSecond() === '&' ? 2 : 1;
    skipNewlines(source);
  }
}

/** One command, or undefined when a closing keyword or an operator comes instead. */
function parseCommand(source: Source): Command | undefined {
  source.countCommand();
  skipBlanks(source);
  if (source.peek() === '(' && !source.pushed) return parseCompound(source, '(', GRAMMAR);
  const command: SimpleCommand = { kind: 'simple', assignments: [], words: [], redirects: [] };
  for (;;) {
    skipBlanks(source);
    if (skipComment(source) || parseRedirect(source, command.redirects)) continue;
    if (takesAssignment(command, source)) {
      const assignment = parseAssignment(source);
      if (assignment) {
        command.assignments.push(assignment);
        continue;
      }
    }
    const name = functionName(command);
    if (name !== undefined && source.peek() === '(' && source.take(EMPTY_PARENS)) {
      return parseCompound(source, 'function', GRAMMAR, name);
    }
    const word = readWord(source);
    if (!word) break;
    const keyword = isEmpty(command) ? plainText(word) : undefined;
    if (keyword !== undefined) {
      if (CLOSING_WORDS.has(keyword)) {
        source.pushed = word;
        return undefined;
      }
      const compound = parseCompound(source, keyword, GRAMMAR);
      if (compound) return compound;
    }
    command.words.push(word);
  }
  return isEmpty(command) ? undefined : command;
}

/** Before the name of the program, and lists after `declare` and its like. */
function takesAssignment({ words }: SimpleCommand, source: Source): boolean {
  if (source.pushed) return false;
  if (words.length === 0) return true;
  if (!DECLARING.has(plainText(words[0]!) ?? '')) return false;
  LIST_ASSIGNMENT.lastIndex = source.pos;
  return LIST_ASSIGNMENT.test(source.text);
}

function isEmpty(command: SimpleCommand): boolean {
  return command.words.length === 0 && command.assignments.length === 0 && command.redirects.length === 0;
}

function functionName(command: SimpleCommand): string | undefined {
  return command.words.length === 1 && command.assignments.length === 0
    ? plainText(command.words[0]!)
    : undefined;
}
