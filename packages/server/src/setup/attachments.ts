/**
 * Files that are parts of messages. They go into the workspace under their names, and the model gets a sentence that says where. A client that
 * sends the whole conversation with every request sends its earlier files again, so those of all messages are placed.
 */
import {
  type Content,
  filesIn,
  type GivenFile,
  type HistoryMessage,
  invalid,
  isFileId,
  type TextContent,
} from '@talaria/protocol';
import type { SharedBlob } from '../journal/contents.ts';
import type { Files } from '../journal/files.ts';
import type { SetupContent, SetupFile } from '../journal/workspace-setup.ts';

const NAME_BYTES_MAX = 200;
const FILES_MAX = 200;

export interface Messages {
  prompt: Content;
  history?: HistoryMessage[] | undefined;
  leadIn?: HistoryMessage[] | undefined;
  followUp?: HistoryMessage[] | undefined;
}

export interface Attachments {
  files: SetupFile[];
  /** The blobs that the run has to hold. */
  blobs: SharedBlob[];
}

export interface Placed<T> extends Attachments {
  /** The messages, with text in place of every file. */
  messages: T;
}

export function hasAttachments({ prompt, history = [], leadIn = [], followUp = [] }: Messages): boolean {
  const contents = [prompt, ...[...history, ...leadIn, ...followUp].map(({ content }) => content)];
  return contents.some((content) => filesIn(content).length > 0);
}

/** `taken`: paths that something else has. */
export async function placeAttachments<T extends Messages>(
  owner: string,
  messages: T,
  { files, taken }: { files: Pick<Files, 'get'>; taken: readonly string[] },
): Promise<Placed<T>> {
  const placing = new Placing(owner, files, taken);
  const inAll = async (list: HistoryMessage[] | undefined): Promise<HistoryMessage[] | undefined> => {
    if (list === undefined) return undefined;
    const placed: HistoryMessage[] = [];
    for (const message of list) placed.push({ ...message, content: await placing.replace(message.content) });
    return placed;
  };
  const history = await inAll(messages.history);
  const leadIn = await inAll(messages.leadIn);
  const prompt = await placing.replace(messages.prompt);
  const followUp = await inAll(messages.followUp);
  return {
    messages: { ...messages, prompt, history, leadIn, followUp },
    files: [...placing.placed.values()].map(({ file }) => file),
    blobs: [...placing.blobs.values()],
  };
}

class Placing {
  readonly #owner: string;
  readonly #files: Pick<Files, 'get'>;
  readonly #taken: Set<string>;
  /** The files by their id, or by their name and content: the same file twice is one file. */
  readonly placed = new Map<string, { file: SetupFile; size: number }>();
  readonly blobs = new Map<string, SharedBlob>();

  constructor(owner: string, files: Pick<Files, 'get'>, taken: readonly string[]) {
    this.#owner = owner;
    this.#files = files;
    this.#taken = new Set(taken);
  }

  async replace(content: Content): Promise<Content> {
    if (typeof content === 'string') return content;
    const parts: Exclude<Content, string> = [];
    for (const part of content) {
      parts.push(part.type === 'text' && part.file !== undefined ? await this.#place(part.file) : part);
    }
    return parts;
  }

  async #place(given: GivenFile): Promise<TextContent> {
    const key = 'file_id' in given ? given.file_id : `${given.filename}\0${given.content}`;
    const { file, size } = this.placed.get(key) ?? (await this.#add(key, given));
    // Some providers join the parts of a message: the sentence must not become a part of the user's.
    const text = `\n[The file ${file.path} is in the workspace. It has ${size} bytes.]\n`;
    return { type: 'text', text };
  }

  async #add(key: string, given: GivenFile): Promise<{ file: SetupFile; size: number }> {
    if (this.placed.size >= FILES_MAX) {
      throw invalid(given.param, `The messages have more than ${FILES_MAX} files`);
    }
    const { content, size, filename } = await this.#resolve(given);
    const placed = { file: { path: this.#freePath(filename), ...content }, size };
    this.placed.set(key, placed);
    return placed;
  }

  async #resolve(given: GivenFile): Promise<{ content: SetupContent; size: number; filename: string }> {
    if (!('file_id' in given)) {
      const { content, encoding, filename = 'file' } = given;
      return { content: { content, encoding }, size: Buffer.byteLength(content, 'base64'), filename };
    }
    const stored = isFileId(given.file_id) ? await this.#files.get(this.#owner, given.file_id) : undefined;
    if (stored === undefined) throw invalid(given.param, `${given.param} names no file of this key`);
    const { blobId, bytes: size } = stored;
    this.blobs.set(blobId, { blobId, from: `file:${given.file_id}` });
    return { content: { blob_id: blobId, size }, size, filename: given.filename ?? stored.filename };
  }

  #freePath(filename: string): string {
    const name = safeName(filename);
    const dot = name.lastIndexOf('.');
    const [stem, end] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
    let path = name;
    for (let count = 2; this.#taken.has(path); count++) path = `${stem}-${count}${end}`;
    this.#taken.add(path);
    return path;
  }
}

/** The last part of a path, without what a terminal or a shell would stumble over; its end keeps the kind of file. */
function safeName(filename: string): string {
  const last = filename.split(/[/\\]/).at(-1) ?? '';
  const plain = last
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\ufffd]/gu, '')
    .trim()
    .replace(/^[.-]+/, '');
  const characters = [...plain];
  while (Buffer.byteLength(characters.join('')) > NAME_BYTES_MAX) characters.shift();
  return characters.join('') || 'file';
}
