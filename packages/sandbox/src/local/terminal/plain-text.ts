/** What a terminal prints, as text: without control sequences, and of a line that was written over only what is left of it. */

/** Control sequences (CSI), operating system commands and other strings, and the short ones. */
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;
/** What clears a line, from the cursor on or as a whole. */
const CLEARS = /\x1b\[[02]?K/g;
const CLEARED = '\f';
const CONTROLS = /[\x00-\x08\x0b\x0e-\x1f\x7f]/g;

export function plainText(printed: string): string {
  const text = printed
    .replaceAll(CLEARED, '')
    .replaceAll(CLEARS, CLEARED)
    .replaceAll(SEQUENCES, '')
    .replaceAll(/\r+\n/g, '\n')
    .replaceAll(CONTROLS, '');
  const shown = text.includes('\r') ? text.split('\n').map(writtenOver).join('\n') : text;
  return shown.replaceAll(CLEARED, '');
}

/** Each part begins at the left again. Shells without a description of their terminal clear a line with spaces. */
function writtenOver(line: string): string {
  const [first = '', ...parts] = line.split('\r');
  if (parts.length === 0) return line;
  const over = (below: string, part: string) =>
    part.startsWith(CLEARED) ? part : part + below.slice(part.length);
  return parts.reduce(over, first).trimEnd();
}
