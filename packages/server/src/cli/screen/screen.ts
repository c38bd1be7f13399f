/**
 * Where progress is shown: lines that stay and, where the terminal allows it, a footer below them that changes.
 *
 * - Text may end in the middle of a line and go on there. Anything else begins on a line of its own.
 * - The footer is asked for whenever it is drawn and has one row per line. It is away while a line of text is
 *   unfinished: the text itself shows that something happens.
 */
export type Footer = (columns: number) => readonly string[];

export interface Screen extends Disposable {
  /** Whether there is a footer. */
  readonly live: boolean;
  readonly columns: number;
  text(text: string): void;
  /** The text will not go on: what comes next is something else. */
  endText(): void;
  line(text: string): void;
  setFooter(footer: Footer): void;
  /** Draws the footer anew. */
  refresh(): void;
}
