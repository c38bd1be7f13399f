/** The beginning of a prompt as lists show it. */
import type { Content } from '@talaria/protocol';

const SHOWN_CHARS = 500;
/** How much is masked: far more than is shown, so that no secret is cut before it can be recognised. */
const READ_CHARS = 50_000;

/** Masked before it is cut, so that half a secret is never shown. */
export function shownInput(prompt: Content, mask: (text: string) => string): string {
  const text =
    typeof prompt === 'string'
      ? prompt
      : prompt.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');
  return mask(text.slice(0, READ_CHARS)).slice(0, SHOWN_CHARS).toWellFormed();
}
