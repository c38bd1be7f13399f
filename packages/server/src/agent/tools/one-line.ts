/** What a call is about to do, as one line for people. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
