/**
 * Draws recorded terminals as one SVG, one window below the other. Each line appears at its time. A viewer that does not
 * animate shows all lines at once.
 */
export interface TerminalLine {
  /** Seconds from the start of the picture. */
  readonly at: number;
  readonly text: string;
  /** True for text that a person typed, false for text that a program printed. */
  readonly typed?: boolean;
}

export interface Terminal {
  readonly title: string;
  readonly lines: readonly TerminalLine[];
}

const COLUMNS = 92;
const CHARACTER_WIDTH = 8;
const LINE_HEIGHT = 19;
const TITLE_HEIGHT = 28;
const PADDING = 12;
const GAP = 10;
const WIDTH = COLUMNS * CHARACTER_WIDTH + 2 * PADDING;

const STYLE = `
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre; }
  .title { fill: #8b95a7; }
  .typed { fill: #9ece6a; }
  .bad { fill: #f7768e; }
  .line { animation: appear 1ms backwards; }
  @keyframes appear { from { opacity: 0; } }`;

export function terminalSvg(description: string, terminals: readonly Terminal[]): string {
  const parts: string[] = [];
  let top = 0;
  for (const { title, lines } of terminals) {
    const rows = lines.flatMap(wrap);
    const height = TITLE_HEIGHT + rows.length * LINE_HEIGHT + PADDING;
    parts.push(
      `<rect y="${top}" width="${WIDTH}" height="${height}" rx="6" fill="#1a1d26"/>`,
      `<text class="title" x="${PADDING}" y="${top + 19}">${escapeXml(title)}</text>`,
      ...rows.map((row, index) => drawLine(row, top + TITLE_HEIGHT + (index + 1) * LINE_HEIGHT - 5)),
    );
    top += height + GAP;
  }
  const size = `width="${WIDTH}" height="${top - GAP}" viewBox="0 0 ${WIDTH} ${top - GAP}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    `<title>${escapeXml(description)}</title>`,
    `<style>${STYLE}\n</style>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function drawLine({ at, text, typed = false }: TerminalLine, y: number): string {
  const look = typed ? ' typed' : /^(✗|Killed)/.test(text) ? ' bad' : '';
  return `<text class="line${look}" x="${PADDING}" y="${y}" style="animation-delay:${at.toFixed(2)}s">${escapeXml(text)}</text>`;
}

/** Breaks a line as a terminal would, but between words. */
function wrap(line: TerminalLine): TerminalLine[] {
  const indent = /^\s*/.exec(line.text)![0];
  const rows: string[] = [];
  let row = '';
  for (const word of line.text.slice(indent.length).split(' ')) {
    const longer = row === '' ? indent + word : `${row} ${word}`;
    if (longer.length > COLUMNS && row !== '') {
      rows.push(row);
      row = indent + word;
    } else row = longer;
  }
  return [...rows, row].map((text) => ({ ...line, text }));
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
