/**
 * Text exactly as it is, with the characters that hide or reorder others made visible: a command must not look harmless
 * because U+202E turned its end around.
 */
import type { ComponentChildren } from 'preact';

/** Bidirectional controls, zero-width characters, and control characters other than tab and line break. */
const TRICKY =
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff])/u;

export function VisibleText({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>;
}

/** For places that show only text: without those characters. */
export function withoutTricks(text: string): string {
  return text
    .split(TRICKY)
    .filter((_, index) => index % 2 === 0)
    .join('');
}

function visible(text: string): ComponentChildren {
  const parts = text.split(TRICKY);
  return parts.map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      // Their order never changes: the text is made anew as a whole.
      <span class="tricky" key={`${index}`}>
        {`U+${part.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`}
      </span>
    ),
  );
}
