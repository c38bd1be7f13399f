/** What a call is about to do, for people: one line of it. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
