/** What a terminal prints, as text: without control sequences, and of a line that was written over only what was written last. */

/** Control sequences (CSI), operating system commands and other strings, and the short ones. */
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g;

export function plainText(printed: string): string {
  const text = printed.replaceAll(SEQUENCES, '').replaceAll(/\r+\n/g, '\n').replaceAll(CONTROLS, '');
  return text.includes('\r') ? text.split('\n').map(lastWritten).join('\n') : text;
}

function lastWritten(line: string): string {
  const parts = line.split('\r').filter((part) => part !== '');
  return parts.at(-1) ?? '';
}
