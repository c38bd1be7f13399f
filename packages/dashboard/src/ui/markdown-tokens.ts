/**
 * Parses Markdown that a model or its tools wrote. The parser and the page go into it level by level, and a long row of marks
 * costs the parser the square of its length. So a text that nests or repeats more than people write is not parsed: three
 * thousand `>` would exhaust the stack, and leave no page.
 */
import { Lexer, type Token, type Tokens } from 'marked';

const DEPTH_MAX = 32;
/** More quotes and lists than that begin in one line. */
const DEEP_LINE = /^[ \t]*(?:>[ \t]*|[-*+][ \t]+|\d{1,9}[.)][ \t]+){33}/m;
const LONG_ROW = /[*_~]{500}/;

/** Undefined for a text that has to be shown as it was written. */
export function markdownTokens(text: string): readonly Token[] | undefined {
  if (DEEP_LINE.test(text) || LONG_ROW.test(text)) return undefined;
  const tokens = new Lexer({ gfm: true }).lex(text);
  return isDeeper(tokens, DEPTH_MAX) ? undefined : tokens;
}

function isDeeper(tokens: readonly Token[], levels: number): boolean {
  return tokens.some((token) => {
    const { tokens: inner = [], items = [] } = token as Tokens.Generic;
    return levels === 0 || isDeeper(inner, levels - 1) || isDeeper(items, levels - 1);
  });
}
