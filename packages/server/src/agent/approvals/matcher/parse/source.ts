/**
 * The text being parsed and the position in it. Malformed text and nesting that is too deep never throw: they are
 * recorded as a problem (which asks) and reading continues with what is left. Only the budget throws.
 */
import { type Budget, COMMAND_COST, WORD_COST } from '../budget.ts';
import type { Part, Problem, Redirect, Script, Word } from './syntax.ts';

/** Deeper nesting than any command a person reviews; shallow enough for the JS stack. */
export const MAX_DEPTH = 40;

export type Closer = ')' | '}' | '';

export interface PendingHeredoc {
  redirect: Redirect;
  delimiter: string;
  quoted: boolean;
  stripTabs: boolean;
}

export interface SourceContext {
  depth: number;
  budget: Budget;
  problems: Set<Problem>;
  /** Read `$'…'` as shells do that do not have it. */
  posix?: boolean;
  parseScript: (source: Source, closer: Closer) => Script;
}

export class Source {
  readonly text: string;
  readonly context: SourceContext;
  pos = 0;
  depth: number;
  /** Inside `((…))`, where `<<` shifts and `#` is a base, not a here-document and a comment. */
  arithmetic = false;
  heredocs: PendingHeredoc[] = [];
  /** A word read ahead by a caller that found it to be a closing keyword. */
  pushed: Word | undefined;

  constructor(text: string, context: SourceContext) {
    this.context = context;
    this.depth = context.depth;
    this.text = text;
    this.charge(text.length + WORD_COST);
  }

  /** The next character after line continuations, or '' at the end. */
  peek(): string {
    while (this.text.charCodeAt(this.pos) === 92 && this.text.charCodeAt(this.pos + 1) === 10) this.pos += 2;
    return this.text[this.pos] ?? '';
  }

  /** The character after the next one. */
  peekSecond(): string {
    let at = this.pos + 1;
    while (this.text.charCodeAt(at) === 92 && this.text.charCodeAt(at + 1) === 10) at += 2;
    return this.text[at] ?? '';
  }

  get atEnd(): boolean {
    return this.peek() === '';
  }

  /** Reads `pattern` (which must be sticky) here and returns it, or ''. */
  take(pattern: RegExp): string {
    pattern.lastIndex = this.pos;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.pos += found.length;
    return found;
  }

  fail(problem: Problem): void {
    this.context.problems.add(problem);
  }

  charge(units: number): void {
    this.context.budget.charge(units);
  }

  countCommand(): void {
    this.charge(COMMAND_COST);
  }

  /** Runs `read` one level deeper; at the limit the rest of the text is given up. */
  nested<T>(read: () => T, otherwise: T): T {
    if (this.depth >= MAX_DEPTH) {
      this.fail('command too complex to inspect');
      this.pos = this.text.length;
      return otherwise;
    }
    this.depth++;
    const result = read();
    this.depth--;
    return result;
  }

  /** Another text, such as the inside of backticks, one level deeper. */
  inner(text: string): Source {
    return new Source(text, { ...this.context, depth: this.depth + 1 });
  }

  /** The commands up to and including `closer`. */
  script(closer: Closer, arithmetic = false): Script {
    const outer = this.arithmetic;
    this.arithmetic = arithmetic;
    const script = this.nested(() => this.context.parseScript(this, closer), []);
    this.arithmetic = outer;
    return script;
  }
}

/** Adjacent text of the same quoting is one part, so a plain word stays one part. */
export function pushText(word: Word, text: string, quoted: boolean): void {
  const last: Part | undefined = word.at(-1);
  if (last?.kind === 'text' && last.quoted === quoted) last.text += text;
  else word.push({ kind: 'text', text, quoted });
}
