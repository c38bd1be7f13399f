/** How many columns of a terminal a text takes, and texts cut to fit. Texts have no escape sequences. */

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Two columns: characters of East Asia, and what is shown as an emoji. */
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f)/u;

const NONE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

const ASCII = /^[\x20-\x7e]*$/;

export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += widthOfGrapheme(segment);
  return width;
}

/** The text, or as much of its beginning as fits with an ellipsis. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let shown = '';
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += widthOfGrapheme(segment);
    if (width > columns - 1) break;
    shown += segment;
  }
  return columns < 1 ? '' : `${shown}…`;
}

/** Rows of at most this many columns, cut anywhere. */
export function wrapHard(text: string, columns: number): string[] {
  if (widthOf(text) <= columns) return [text];
  const rows = [''];
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    const more = widthOfGrapheme(segment);
    if (width > 0 && width + more > columns) {
      rows.push('');
      width = 0;
    }
    rows[rows.length - 1] += segment;
    width += more;
  }
  return rows;
}

export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

function widthOfGrapheme(grapheme: string): number {
  if (NONE.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
