/** Replaces the part of a document between `<!-- name:begin -->` and `<!-- name:end -->`. */
export function replaceMarkedPart(document: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->\n`, `<!-- ${name}:end -->`];
  const from = document.indexOf(begin);
  const to = document.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`The document has no part "${name}"`);
  return document.slice(0, from + begin.length) + content + document.slice(to);
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => '---'), ...rows].map((cells, index) =>
    index === 1 ? `|${cells.join('|')}|` : `| ${cells.join(' | ')} |`,
  );
  return `${lines.join('\n').replaceAll('|  |', '| |')}\n`;
}
