/** The parts of a text, without the space around them; an empty text has none. */
export function listOf(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
