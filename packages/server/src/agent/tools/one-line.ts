/** Puts a text on one line, to show people what a call is about to do. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
