/**
 * Reads here-documents at the newline that follows their operator.
 * A body hides text from the parser, so the rule is: only what bash would certainly take as body is
 * taken. If the delimiter never comes, nothing is taken, the lines are parsed as commands as well, and
 * the problem is recorded.
 */
import { pushText, type Source } from './source.ts';
import { plainText, type Redirect, type Word } from './syntax.ts';
import { readHeredocText } from './words.ts';

export function expectHeredoc(source: Source, redirect: Redirect): void {
  const delimiter = delimiterOf(redirect.target);
  if (delimiter === undefined) {
    source.fail('unparsable command');
    return;
  }
  source.heredocs.push({
    redirect,
    delimiter,
    quoted: plainText(redirect.target) === undefined,
    stripTabs: redirect.operator === '<<-',
  });
}

/** Called with the position just after a newline. */
export function readHeredocs(source: Source): void {
  const pending = source.heredocs;
  source.heredocs = [];
  for (const heredoc of pending) {
    const start = source.pos;
    const body = bodyUntil(source, heredoc.delimiter, heredoc.stripTabs, !heredoc.quoted);
    // The search for a delimiter that never comes reads the whole rest of the text, for each such delimiter.
    if (body === undefined) source.charge(source.text.length - start);
    if (body === undefined) {
      source.fail('unparsable command');
      continue;
    }
    if (heredoc.quoted) {
      const word: Word = [];
      pushText(word, body, true);
      heredoc.redirect.body = word;
    } else {
      const inner = source.inner(body);
      heredoc.redirect.body = inner.nested(() => readHeredocText(inner), []);
    }
  }
}

/** The shell does not expand a delimiter. One that contains an expansion is too unusual to trust. */
function delimiterOf(target: Word): string | undefined {
  let delimiter = '';
  for (const part of target) {
    if (part.kind !== 'text') return undefined;
    delimiter += part.text;
  }
  return delimiter.includes('\n') ? undefined : delimiter;
}

function bodyUntil(
  source: Source,
  delimiter: string,
  stripTabs: boolean,
  joinLines: boolean,
): string | undefined {
  const { text } = source;
  const lines: string[] = [];
  let at = source.pos;
  while (at < text.length) {
    let line = '';
    // Without a quoted delimiter a trailing backslash joins lines before the delimiter is looked for.
    for (;;) {
      let end = text.indexOf('\n', at);
      if (end < 0) end = text.length;
      const piece = text.slice(at, end);
      at = Math.min(end + 1, text.length);
      if (!joinLines || !endsInOddBackslashes(piece) || at >= text.length) {
        line += piece;
        break;
      }
      line += piece.slice(0, -1);
    }
    if (stripTabs) line = line.replace(/^\t+/, '');
    if (line === delimiter) {
      source.pos = at;
      return lines.length > 0 ? `${lines.join('\n')}\n` : '';
    }
    lines.push(line);
  }
  return undefined;
}

function endsInOddBackslashes(line: string): boolean {
  let count = 0;
  while (line[line.length - 1 - count] === '\\') count++;
  return count % 2 === 1;
}
