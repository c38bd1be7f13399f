/**
 * Where progress is shown: lines that stay and, where the terminal allows it, a footer below them that changes.
 *
 * - Text may end in the middle of a line and continue there. Anything else begins on a new line.
 * - The footer is requested whenever it is drawn and has one row per line. It is hidden while a line of text is
 *   unfinished: the text itself shows activity.
 */
export type Footer = (columns: number) => readonly string[];

export interface Screen extends Disposable {
  /** Whether there is a footer. */
  readonly live: boolean;
  readonly columns: number;
  text(text: string): void;
  /** The text is complete: what comes next is something else. */
  endText(): void;
  line(text: string): void;
  setFooter(footer: Footer): void;
  /** Draws the footer anew. */
  refresh(): void;
}
