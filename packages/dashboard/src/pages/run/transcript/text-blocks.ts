/**
 * Cuts streamed Markdown into blocks, each of which is parsed and shown on its own: a long answer costs no more per
 * delta than a short one, and only the blocks in sight are in the page.
 *
 * - A block ends at an empty line before a line that is not indented (an indented one may belong to a list), and at the
 *   fences of code. What the blocks contain does not depend on how the text was cut into deltas.
 * - Very long blocks are cut as well: code after so many lines, everything else as soon as a line is not indented.
 * - `text` has whole lines; the last line, while it is still being written, is in `unfinished`.
 */

export interface Block {
  kind: 'markdown' | 'code';
  /** The word after the fence of code, or empty. */
  language: string;
  text: string;
  unfinished: string;
  /** More may be added. */
  open: boolean;
}

const CODE_LINES_MAX = 400;
const MARKDOWN_LINES_MAX = 100;

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})\s*([^\s`]*)/;

export class TextBlocks {
  /** In order. A block never changes its place. */
  readonly blocks: Block[] = [];
  #fence: string | undefined;
  #afterEmpty = false;
  #lines = 0;

  append(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.#extend(text.slice(from, end));
      this.#endLine();
      from = end + 1;
    }
    this.#extend(text.slice(from));
  }

  end(): void {
    if (this.#current?.unfinished) this.#endLine();
    this.#close();
  }

  get #current(): Block | undefined {
    const last = this.blocks.at(-1);
    return last?.open ? last : undefined;
  }

  #extend(piece: string): void {
    if (piece === '') return;
    if (!this.#current?.unfinished) this.#beginLine(piece);
    this.#current!.unfinished += piece;
  }

  #beginLine(start: string): void {
    const isIndented = /^\s/.test(start);
    const full = this.#lines >= (this.#fence === undefined ? MARKDOWN_LINES_MAX : CODE_LINES_MAX);
    const parts = this.#fence === undefined ? (this.#afterEmpty || full) && !isIndented : full;
    if (this.#current === undefined) this.#open('markdown', '');
    else if (parts) this.#open(this.#current.kind, this.#current.language);
    this.#afterEmpty = false;
  }

  #endLine(): void {
    const block = this.#current;
    const line = block?.unfinished ?? '';
    if (block !== undefined) block.unfinished = '';
    if (this.#fence !== undefined) this.#endCodeLine(line);
    else if (line.trim() === '') {
      this.#afterEmpty = true;
      if (block !== undefined) block.text += '\n';
    } else {
      const [, fence, language = ''] = FENCE.exec(line) ?? [];
      if (fence === undefined) this.#add(line);
      else {
        this.#open('code', language);
        this.#fence = fence;
      }
    }
  }

  #endCodeLine(line: string): void {
    const fence = this.#fence!;
    const end = line.trim();
    const closes = end.length >= fence.length && end === fence[0]!.repeat(end.length);
    if (closes) {
      this.#fence = undefined;
      this.#close();
    } else this.#add(line);
  }

  #add(line: string): void {
    if (this.#current === undefined) this.#beginLine(line);
    this.#current!.text += `${line.endsWith('\r') ? line.slice(0, -1) : line}\n`;
    this.#lines++;
  }

  #open(kind: Block['kind'], language: string): void {
    const current = this.#current;
    this.#lines = 0;
    // The line that turned out to be a fence has made a block of its own.
    if (current !== undefined && current.text.trim() === '')
      Object.assign(current, { kind, language, text: '' });
    else {
      this.#close();
      this.blocks.push({ kind, language, text: '', unfinished: '', open: true });
    }
  }

  #close(): void {
    const block = this.#current;
    if (block !== undefined) block.open = false;
    this.#lines = 0;
    this.#afterEmpty = false;
  }
}
