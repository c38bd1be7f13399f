/**
 * Markdown as nodes. The text comes from a model and its tools, so it is never made into HTML: tags are shown as text,
 * images as links (loading one would tell its server what was read), and links lead to web pages or mail only.
 */
import type { Token, Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import remend from 'remend';
import { CodeBlock } from './code.tsx';
import { decodeEntities } from './entities.ts';
import { markdownTokens } from './markdown-tokens.ts';
import './markdown.css';

/** A row costs nodes of the page: beyond this many a table is shown as it was written. */
const TABLE_ROWS_MAX = 100;

interface MarkdownProps {
  text: string;
  /** More will come: emphasis and links that are still open are shown as if they were closed. */
  unfinished?: boolean;
}

export function Markdown({ text, unfinished = false }: MarkdownProps) {
  const nodes = useMemo(() => {
    const source = unfinished ? remend(text, { linkMode: 'text-only', images: false }) : text;
    const tokens = markdownTokens(source);
    return tokens === undefined ? <CodeBlock text={text} language="" /> : blocks(tokens);
  }, [text, unfinished]);
  return <div class="markdown">{nodes}</div>;
}

/** Where a link may lead: `javascript:` and the like stay text. */
function safeHref(href: string): string | undefined {
  try {
    const url = new URL(decodeEntities(href));
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function blocks(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

function Block({ token: given }: { token: Token }) {
  const token = given as Tokens.Generic;
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'hr':
      return <hr />;
    case 'heading':
      return <Heading depth={(token as Tokens.Heading).depth}>{spans(token.tokens)}</Heading>;
    case 'code':
      return <CodeBlock text={token.text} language={token.lang ?? ''} />;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case 'list':
      return <List list={token as Tokens.List} />;
    case 'table':
      return <Table table={token as Tokens.Table} />;
    case 'paragraph':
      return <p dir="auto">{spans(token.tokens)}</p>;
    case 'text':
      return <>{token.tokens === undefined ? decodeEntities(token.text) : spans(token.tokens)}</>;
    case 'checkbox':
      return <>{token.checked ? '☑ ' : '☐ '}</>;
    case 'html':
      return (
        <p dir="auto" class="markup">
          {token.raw}
        </p>
      );
    default:
      return <p dir="auto">{token.raw}</p>;
  }
}

/** The page has its own headings: those of the text come below them. */
function Heading({ depth, children }: { depth: number; children: ComponentChildren }) {
  return (
    <p class={`heading heading-${Math.min(depth, 4)}`} dir="auto">
      <strong>{children}</strong>
    </p>
  );
}

function List({ list: { ordered, start, items } }: { list: Tokens.List }) {
  const rows = items.map((item, index) => (
    <li key={index} dir="auto">
      {blocks(item.tokens)}
    </li>
  ));
  return ordered ? <ol start={start === '' ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>;
}

function Table({ table: { header, rows, raw } }: { table: Tokens.Table }) {
  if (rows.length > TABLE_ROWS_MAX) return <CodeBlock text={raw} language="" />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, also by the keyboard
    <div class="wide" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} scope="col" dir="auto">
                {spans(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} dir="auto">
                  {spans(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function spans(tokens: readonly Token[] | undefined): ComponentChildren {
  return tokens?.map((token, index) => <Span key={index} token={token} />);
}

function Span({ token: given }: { token: Token }) {
  const token = given as Tokens.Generic;
  switch (token.type) {
    case 'strong':
      return <strong>{spans(token.tokens)}</strong>;
    case 'em':
      return <em>{spans(token.tokens)}</em>;
    case 'del':
      return <del>{spans(token.tokens)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Link href={token.href}>{spans(token.tokens)}</Link>;
    case 'image':
      return <Link href={token.href}>{`🖼 ${token.text || token.href}`}</Link>;
    case 'text':
      return <>{token.tokens === undefined ? decodeEntities(token.text) : spans(token.tokens)}</>;
    case 'escape':
      return <>{token.text}</>;
    case 'checkbox':
      return <>{token.checked ? '☑ ' : '☐ '}</>;
    default:
      return <>{token.raw}</>;
  }
}

function Link({ href, children }: { href: string; children: ComponentChildren }) {
  const safe = safeHref(href);
  if (safe === undefined) return <span title={href}>{children}</span>;
  return (
    <a href={safe} title={safe} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}
