/**
 * Messages as clients send them: the history and the prompt. The reader is lenient, because each dialect has its own
 * names for text and image parts. It refuses what could not be passed on to a model.
 */
import { TalariaError } from './errors.ts';
import { invalid } from './fields.ts';

export interface TextContent {
  type: 'text';
  text: string;
  /** The file that this text stands for. When the run is accepted, the text says where the file is. */
  file?: GivenFile;
}

/** A file as a part of a message. It goes into the workspace; the model gets its name. */
export type GivenFile = {
  filename?: string;
  /** The field that an error about it names. */
  param: string;
} & ({ file_id: string } | { content: string; encoding: 'base64' });

export interface ImageContent {
  type: 'image';
  url: string;
}

export type Content = string | (TextContent | ImageContent)[];

export interface HistoryMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: Content;
  /** For an assistant message: its tool calls, each followed by its result. */
  tool_calls?: HistoryCall[];
  /** For a tool message: the call that this is the result of. */
  tool_call_id?: string;
}

export interface HistoryCall {
  id: string;
  tool: string;
  /** JSON text. */
  arguments: string;
}

export function parseInput(input: unknown): { prompt: Content; earlier: HistoryMessage[] } {
  if (typeof input === 'string') {
    if (input.trim() === '') throw new TalariaError('no_user_message', { param: 'input' });
    return { prompt: input, earlier: [] };
  }
  if (!Array.isArray(input)) {
    throw invalid('input', "'input' must be a string or an array of messages");
  }
  const messages = input.map((entry: unknown, i) =>
    typeof entry === 'string'
      ? { role: 'user' as const, content: entry }
      : parseMessage(entry, `input[${i}]`),
  );
  const last = messages.at(-1);
  if (last === undefined || isBlank(last.content)) {
    throw new TalariaError('no_user_message', { param: 'input' });
  }
  return { prompt: last.content, earlier: pairCalls(messages.slice(0, -1)) };
}

export function parseHistory(value: unknown): HistoryMessage[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw new TalariaError('invalid_history', { param: 'conversation_history' });
  // Clients that always send this field send it empty when they have no history.
  if (value.length === 0) return undefined;
  return pairCalls(value.map((entry: unknown, i) => parseMessage(entry, `conversation_history[${i}]`)));
}

export function parseMessage(entry: unknown, where: string): HistoryMessage {
  const fields = typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : {};
  const calls = fields.role === 'assistant' ? parseCalls(fields) : [];
  if (typeof fields.role !== 'string' || (!('content' in fields) && calls.length === 0)) {
    throw new TalariaError('invalid_history', {
      message: `${where} must have 'role' and 'content' fields`,
      param: where,
    });
  }
  const content = parseContent(fields.content ?? null, where);
  const isUsers = toRole(fields.role) === 'user' && fields.role !== 'tool' && fields.role !== 'function';
  if (!isUsers) refuseFiles(content, 'a message that is not the user’s');
  const id = fields.role === 'function' ? fields.name : fields.tool_call_id;
  if ((fields.role === 'tool' || fields.role === 'function') && typeof id === 'string') {
    return { role: 'tool', content, tool_call_id: id };
  }
  return { role: toRole(fields.role), content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

/**
 * Providers refuse a call without its result and a result without its call. A call without a result is left out. A
 * result without a call is kept as text of the user. Providers also refuse blank messages, so those are left out.
 */
export function pairCalls(messages: readonly HistoryMessage[]): HistoryMessage[] {
  const paired: HistoryMessage[] = [];
  for (let i = 0; i < messages.length; i += 1) {
    const message = messages[i]!;
    if (message.role === 'tool') {
      if (!isBlank(message.content)) paired.push({ role: 'user', content: message.content });
      continue;
    }
    const results = message.tool_calls === undefined ? [] : resultsAfter(messages, i);
    const { tool_calls: made = [], ...said } = message;
    const calls = made.filter(({ id }) => results.some(({ tool_call_id }) => tool_call_id === id));
    if (calls.length > 0) {
      const answered = calls.map(({ id }) => results.find(({ tool_call_id }) => tool_call_id === id)!);
      paired.push({ ...said, tool_calls: calls }, ...answered);
      i += results.length;
    } else if (!isBlank(message.content)) {
      paired.push(said);
    }
  }
  return paired;
}

function resultsAfter(messages: readonly HistoryMessage[], i: number): HistoryMessage[] {
  const end = messages.findIndex(({ role }, at) => at > i && role !== 'tool');
  return messages.slice(i + 1, end === -1 ? messages.length : end);
}

function parseCalls({ tool_calls, function_call }: Record<string, unknown>): HistoryCall[] {
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  const legacy =
    typeof function_call === 'object' && function_call !== null ? [{ function: function_call }] : [];
  return [...calls, ...legacy].flatMap((entry: unknown) => {
    const { id, function: called } = (entry ?? {}) as { id?: unknown; function?: unknown };
    const { name, arguments: args } = (called ?? {}) as { name?: unknown; arguments?: unknown };
    if (typeof name !== 'string') return [];
    return [
      {
        id: typeof id === 'string' ? id : name,
        tool: name,
        arguments: typeof args === 'string' ? args : '{}',
      },
    ];
  });
}

function toRole(role: string): HistoryMessage['role'] {
  if (role === 'assistant') return 'assistant';
  return role === 'system' || role === 'developer' ? 'system' : 'user';
}

/** The text of an array of text parts; undefined for anything else. */
export function textOfParts(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const texts = value.map((part: unknown) => {
    const { text } = (typeof part === 'object' && part !== null ? part : {}) as { text?: unknown };
    return typeof text === 'string' ? text : undefined;
  });
  return texts.every((text) => text !== undefined) ? texts.join('') : undefined;
}

function parseContent(content: unknown, where: string): Content {
  if (typeof content === 'string') return content;
  // In OpenAI's dialect an assistant message that only calls tools has null content.
  if (content === null) return '';
  if (!Array.isArray(content)) {
    throw invalid(`${where}.content`, `${where}.content must be a string or an array of content parts`);
  }
  return content.map((part: unknown, i) => parsePart(part, `${where}.content[${i}]`));
}

function parsePart(part: unknown, where: string): TextContent | ImageContent {
  if (typeof part === 'string') return { type: 'text', text: part };
  const fields = typeof part === 'object' && part !== null ? (part as Record<string, unknown>) : {};
  const { type, text } = fields;
  // Text parts have many names: text, input_text, output_text, summary_text, reasoning_text.
  if (typeof type === 'string' && type.endsWith('text') && typeof text === 'string') {
    return { type: 'text', text };
  }
  if (type === 'refusal' && typeof fields.refusal === 'string') return { type: 'text', text: fields.refusal };
  if (type === 'image_url' || type === 'input_image' || type === 'computer_screenshot') {
    const image = fields.image_url;
    const url =
      typeof image === 'object' && image !== null && 'url' in image ? (image as { url: unknown }).url : image;
    if (typeof url === 'string' && /^(https?:\/\/|data:image\/)/i.test(url)) return { type: 'image', url };
  }
  if (type === 'input_file' || type === 'file') return parseFilePart(fields, where);
  refusePart(fields, where);
  throw invalid(where, `${where} must be a text part or an image part with an http(s) or data:image URL`);
}

/** In OpenAI's two forms: with the fields in `file`, or without. Data may be base64 or a data URL. */
function parseFilePart(fields: Record<string, unknown>, where: string): TextContent {
  const { file } = fields;
  const given = typeof file === 'object' && file !== null ? (file as Record<string, unknown>) : fields;
  const { file_id: fileId, filename, file_url: fileUrl } = given;
  const data = given.file_data ?? (typeof file === 'string' ? file : undefined);
  if (typeof fileUrl === 'string') {
    throw invalid(where, `${where} names a file by 'file_url'; upload it, or send its 'file_data'`);
  }
  if ((typeof fileId === 'string') === (typeof data === 'string')) {
    throw invalid(where, `${where} must have either 'file_id' or 'file_data'`);
  }
  const named = typeof filename === 'string' && filename !== '' ? { filename } : {};
  const text = `[A file: ${named.filename ?? 'without a name'}]`;
  if (typeof fileId === 'string') {
    return { type: 'text', text, file: { ...named, param: where, file_id: fileId } };
  }
  const content = (data as string).replace(/^data:[^,]*;base64,/i, '');
  if (content.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(content)) {
    throw invalid(where, `${where} has 'file_data' that is neither base64 nor a data URL in base64`);
  }
  return { type: 'text', text, file: { ...named, param: where, content, encoding: 'base64' } };
}

export function filesIn(content: Content): GivenFile[] {
  if (typeof content === 'string') return [];
  return content.flatMap((part) => (part.type === 'text' && part.file !== undefined ? [part.file] : []));
}

/** Throws if the content has a file: only a message of the user may have one. */
export function refuseFiles(content: Content, place: string): void {
  const [file] = filesIn(content);
  if (file !== undefined) throw invalid(file.param, `${file.param} is a file, which ${place} cannot have`);
}

/** The error names the unsupported part, so that the client knows what to leave out. */
function refusePart({ type, file_id: fileId }: Record<string, unknown>, where: string): void {
  const isImage = type === 'image_url' || type === 'input_image';
  if (isImage && typeof fileId === 'string') {
    throw invalid(where, `${where} names an image by 'file_id'; give its http(s) or data:image URL instead`);
  }
  if (type === 'input_audio') {
    throw invalid(where, `${where} is audio, which is not supported; send its text instead`);
  }
}

export function isBlank(content: Content): boolean {
  if (typeof content === 'string') return content.trim() === '';
  return content.every((part) => part.type === 'text' && part.text.trim() === '');
}
