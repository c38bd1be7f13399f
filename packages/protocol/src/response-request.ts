/**
 * Reads the body of `POST /v1/responses`. As for chat-request.ts: what tunes a model is the server's to decide and is
 * ignored; refused is what would leave a client waiting for something it never gets.
 */
import { TalariaError } from './errors.ts';
import { invalid, optionalFlag, optionalString, parseObject } from './fields.ts';
import { type Content, type HistoryMessage, parseHistory, parseInput } from './messages.ts';
import { parseSessionName } from './requests.ts';

export interface CreateResponse {
  prompt: Content;
  /** Turns before the prompt; `undefined` when the request gave none, so that what is stored may provide them. */
  history: HistoryMessage[] | undefined;
  /** Messages before the prompt that go on from what was said before. */
  leadIn: HistoryMessage[] | undefined;
  instructions: string | undefined;
  model: string | undefined;
  previousResponseId: string | undefined;
  /** The name of the session to go on with. */
  conversation: string | undefined;
  store: boolean;
  background: boolean;
  stream: boolean;
  truncation: 'auto' | 'disabled';
  metadata: Record<string, string>;
}

/** What `truncation: auto` leaves of what was said before. */
export const TRUNCATION_AUTO_MESSAGES = 100;

/** OpenAI's bounds. */
const METADATA_PAIRS = 16;
const METADATA_NAME_CHARS = 64;
const METADATA_VALUE_CHARS = 512;

export function parseCreateResponse(body: unknown): CreateResponse {
  const fields = parseObject(body);
  const { input } = fields;
  if (input === undefined || input === null || input === '' || (Array.isArray(input) && input.length === 0)) {
    throw new TalariaError('missing_input', { param: 'input' });
  }
  const { prompt, earlier } = parseInput(Array.isArray(input) ? toMessages(input) : input);
  const explicit = parseHistory(fields.conversation_history);
  const previousResponseId = optionalString(fields, 'previous_response_id') || undefined;
  const conversation = parseConversation(fields.conversation);
  if (conversation !== undefined && previousResponseId !== undefined) {
    throw invalid('conversation', "'conversation' and 'previous_response_id' cannot be used together");
  }
  const store = fields.store === undefined || fields.store === null || optionalFlag(fields, 'store');
  const background = optionalFlag(fields, 'background');
  if (background && !store) {
    throw invalid('background', "'background' needs 'store': without it nobody could ask for the result");
  }
  refuseUnmet(fields);
  return {
    prompt,
    history: explicit,
    leadIn: explicit === undefined && earlier.length > 0 ? earlier : undefined,
    instructions: optionalString(fields, 'instructions'),
    model: optionalString(fields, 'model') || undefined,
    previousResponseId,
    conversation,
    store,
    background,
    stream: optionalFlag(fields, 'stream'),
    truncation: parseTruncation(fields.truncation),
    metadata: parseMetadata(fields.metadata),
  };
}

/**
 * The items of an earlier response may be sent back among the messages. A call the server made says nothing that its
 * result does not; the result is read as text. Reasoning is the model's own and of no use to another step.
 */
function toMessages(items: readonly unknown[]): unknown[] {
  return items.flatMap((item) => {
    const fields = typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : {};
    switch (fields.type) {
      case 'function_call':
      case 'reasoning':
        return [];
      case 'function_call_output':
        return [{ role: 'tool', content: fields.output }];
      default:
        return [item];
    }
  });
}

function parseConversation(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const id = typeof value === 'object' ? (value as { id?: unknown }).id : value;
  if (typeof id !== 'string') {
    throw invalid('conversation', "'conversation' must be a name or an object with the name as its 'id'");
  }
  return parseSessionName(id, 'conversation');
}

function parseTruncation(value: unknown): 'auto' | 'disabled' {
  if (value === undefined || value === null) return 'disabled';
  if (value !== 'auto' && value !== 'disabled') {
    throw invalid('truncation', "'truncation' must be auto or disabled");
  }
  return value;
}

function parseMetadata(value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {};
  const entries = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : undefined;
  const fits = entries?.every(
    ([name, text]) =>
      name.length <= METADATA_NAME_CHARS && typeof text === 'string' && text.length <= METADATA_VALUE_CHARS,
  );
  if (entries === undefined || entries.length > METADATA_PAIRS || fits !== true) {
    throw invalid(
      'metadata',
      `'metadata' must be an object of at most ${METADATA_PAIRS} strings, ` +
        `with names of up to ${METADATA_NAME_CHARS} and values of up to ${METADATA_VALUE_CHARS} characters`,
    );
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

function refuseUnmet({ tool_choice, text, prompt }: Record<string, unknown>): void {
  if (tool_choice === 'required' || (typeof tool_choice === 'object' && tool_choice !== null)) {
    throw invalid('tool_choice', "'tool_choice' cannot force a call: the agent uses the tools of the server");
  }
  const { format } = (typeof text === 'object' && text !== null ? text : {}) as {
    format?: { type?: unknown };
  };
  if (format?.type !== undefined && format.type !== 'text') {
    throw invalid('text', "'text.format' must be text: the agent's answer has no set form");
  }
  if (prompt !== undefined && prompt !== null) {
    throw invalid('prompt', "'prompt' names a template of OpenAI's; write what it says into 'input'");
  }
}
