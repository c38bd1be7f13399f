/** The output of a terminal as pieces of text with colours. Everything else that a terminal would obey is removed. */
import Anser from 'anser';

export interface Piece {
  text: string;
  /** Names of classes, or empty. */
  style: string;
}

/** Commands to the terminal that no page can follow: titles, links, colours of its own (OSC); cursor and screen (CSI). */
// biome-ignore format: a line per kind
const COMMANDS = new RegExp([
  '\\u001b\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\|$)',
  '\\u001b\\[[0-?]*[ -/]*[@-ln-~]',
  '\\u001b[PX^_][^\\u001b]*(?:\\u001b\\\\|$)',
  '\\u001b[ -/]*[0-Z\\\\^-~]',
].join('|'), 'g');

const COLOUR = /\u001b(?:\[[0-?]*[ -/]*m)?/g;

/** Each piece is a node of the page. Output with more changes of colour is shown without. */
const PIECES_MAX = 600;

export function ansiPieces(output: string): Piece[] {
  const text = output.replace(COMMANDS, '').split('\n').map(lastWritten).join('\n');
  if (!text.includes('\u001b')) return text === '' ? [] : [{ text, style: '' }];
  if (text.split('\u001b').length > PIECES_MAX) return [{ text: text.replace(COLOUR, ''), style: '' }];
  const entries = Anser.ansiToJson(text, { json: true, remove_empty: true, use_classes: true });
  return entries.map(({ content, fg, bg, decorations }) => ({
    text: content.replaceAll('\u001b', ''),
    style: [fg && `${named(fg)}-fg`, bg && `${named(bg)}-bg`, ...decorations.map((name) => `ansi-${name}`)]
      .filter(Boolean)
      .join(' '),
  }));
}

/** What remains visible of a line that was overwritten, as by a progress bar. */
function lastWritten(line: string): string {
  const end = line.endsWith('\r') ? line.length - 1 : line.length;
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
}

/** Colours by number have no class: they are shown as text has them. */
function named(colour: string): string {
  return /^ansi-[a-z-]+$/.test(colour) ? colour : 'ansi-other';
}
