/**
 * Merges the text chunks of a chat completion that have arrived together, before the provider layer parses them. That
 * layer spends far more on a chunk than on the text in it, and a fast model sends hundreds of chunks in one packet.
 *
 * Chunks are merged only if they differ in nothing but their text: then the text between the two quotes of one frame can
 * be put behind that of the other, without parsing either. Everything else passes unchanged.
 */

const FRAME_END = '\n\n';
const TEXT_BEGIN = '"content":"';
/** The inside of a string in JSON, up to its closing quote. */
const STRING = /(?:[^"\\]|\\.)*/y;

interface TextFrame {
  /** Up to the text, and from the quote after it. */
  before: string;
  after: string;
  text: string;
}

export class TextMerger {
  readonly #decoder = new TextDecoder();
  /** The beginning of a frame whose end has not arrived. */
  #begun = '';
  /** What surrounds the text of chunks that were found to have nothing else. */
  #plain: Omit<TextFrame, 'text'> | undefined;

  /** The complete frames that this piece ends. */
  push(piece: Uint8Array): string {
    const text = this.#begun + this.#decoder.decode(piece, { stream: true });
    const end = text.lastIndexOf(FRAME_END);
    if (end === -1) {
      this.#begun = text;
      return '';
    }
    this.#begun = text.slice(end + FRAME_END.length);
    return this.#merge(text.slice(0, end).split(FRAME_END));
  }

  /** What is left at the end of the stream. */
  end(): string {
    return this.#begun + this.#decoder.decode();
  }

  #merge(frames: readonly string[]): string {
    let merged = '';
    let open: TextFrame | undefined;
    for (const frame of frames) {
      const next = this.#read(frame);
      if (open !== undefined && next?.before === open.before && next.after === open.after) {
        open.text += next.text;
        continue;
      }
      if (open !== undefined) merged += written(open);
      open = next;
      if (next === undefined) merged += frame + FRAME_END;
    }
    return open === undefined ? merged : merged + written(open);
  }

  /** Undefined for a frame that is more than text. */
  #read(frame: string): TextFrame | undefined {
    const begin = frame.indexOf(TEXT_BEGIN) + TEXT_BEGIN.length;
    if (begin < TEXT_BEGIN.length) return undefined;
    STRING.lastIndex = begin;
    const text = STRING.exec(frame)?.[0] ?? '';
    const found = { before: frame.slice(0, begin), text, after: frame.slice(begin + text.length) };
    const { before, after } = this.#plain ?? {};
    if (found.before === before && found.after === after) return found;
    if (!isPlain(found)) return undefined;
    this.#plain = { before: found.before, after: found.after };
    return found;
  }
}

function written({ before, text, after }: TextFrame): string {
  return before + text + after + FRAME_END;
}

/** Whether two such chunks, one after the other, mean the same as one with both texts. */
function isPlain({ before, after }: TextFrame): boolean {
  const [, json] = /^data: ?(\{.*\})$/.exec(before + after) ?? [];
  try {
    const { choices, usage = null } = JSON.parse(json ?? '') as Chunk;
    const [choice] = choices;
    if (choices.length !== 1 || choice === undefined || usage !== null) return false;
    const { index, delta, finish_reason: reason = null, logprobs = null, ...others } = choice;
    const { content, ...unknown } = delta;
    const hasOthers = Object.keys(others).length + Object.keys(unknown).length > 0;
    return content === '' && reason === null && logprobs === null && !hasOthers;
  } catch {
    return false;
  }
}

interface Chunk {
  choices: { index: number; delta: { content?: string }; finish_reason?: unknown; logprobs?: unknown }[];
  usage?: unknown;
}
