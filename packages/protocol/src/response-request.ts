/**
 * Reads the body of `POST /v1/responses`. As in chat-request.ts: a field that the agent cannot honour is ignored. It is
 * refused only if the client would otherwise wait for something it never gets. References to stored items were replaced
 * before this.
 */
import { TalariaError } from './errors.ts';
import { invalid, optionalFlag, optionalString, parseObject } from './fields.ts';
import { type Content, type HistoryMessage, isBlank, pairCalls, parseHistory } from './messages.ts';
import { parseModelSettings } from './model-settings.ts';
import { type OutputForm, parseOutputFormat } from './output-form.ts';
import { parseSessionName } from './requests.ts';
import { messagesOfItems } from './response-items.ts';
import type { ModelSettings } from './run.ts';
import { type ClientTools, outputText, parseClientTools, type ToolOutput } from './tool-requests.ts';

export interface CreateResponse extends ResponseInput {
  /**
   * The messages before the prompt; `undefined` when the request has none, so that the stored conversation may provide
   * them.
   */
  history: HistoryMessage[] | undefined;
  instructions: string | undefined;
  model: string | undefined;
  previousResponseId: string | undefined;
  /** The name of the session to continue. */
  conversation: string | undefined;
  store: boolean;
  background: boolean;
  stream: boolean;
  truncation: 'auto' | 'disabled';
  metadata: Record<string, string>;
  clientTools: ClientTools | undefined;
  outputForm: OutputForm | undefined;
  settings: ModelSettings | undefined;
}

export interface ResponseInput {
  /** The last user message. */
  prompt: Content;
  /** Messages before the prompt that continue the stored conversation. */
  leadIn: HistoryMessage[] | undefined;
  /** The calls after the prompt and their results, where the input ends with tool results. */
  followUp: HistoryMessage[] | undefined;
  /** The outputs at the end of the input; a user message may follow them. */
  outputs: ToolOutput[];
  /** Whether the prompt comes after the outputs. */
  promptIsLast: boolean;
}

/** How many earlier messages `truncation: auto` keeps. */
export const TRUNCATION_AUTO_MESSAGES = 100;

/** The model's text for a request that has only an empty output of an unknown call. */
const NO_OUTPUT = '[The call gave no output.]';

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
  const said = parseResponseInput(input);
  const explicit = parseHistory(fields.conversation_history);
  const previousResponseId = optionalString(fields, 'previous_response_id') || undefined;
  const conversation = parseConversation(fields.conversation);
  if (conversation !== undefined && previousResponseId !== undefined) {
    throw invalid('conversation', "'conversation' and 'previous_response_id' cannot be used together");
  }
  const store = fields.store === undefined || fields.store === null || optionalFlag(fields, 'store');
  const background = optionalFlag(fields, 'background');
  if (background && !store) {
    throw invalid('background', "'background' needs 'store': without it nobody could fetch the result");
  }
  refuseUnmet(fields);
  for (const name of ['text', 'reasoning']) expectObject(fields[name], name);
  return {
    ...said,
    history: explicit,
    leadIn: explicit === undefined ? said.leadIn : undefined,
    instructions: optionalString(fields, 'instructions'),
    model: optionalString(fields, 'model') || undefined,
    previousResponseId,
    conversation,
    store,
    background,
    stream: optionalFlag(fields, 'stream'),
    truncation: parseTruncation(fields.truncation),
    metadata: parseMetadata(fields.metadata),
    clientTools: parseClientTools(fields),
    outputForm: parseOutputFormat(formatIn(fields.text), 'text.format'),
    settings: parseModelSettings(fields),
  };
}

function expectObject(value: unknown, name: string): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'object' || Array.isArray(value)) throw invalid(name, `'${name}' must be an object`);
}

/** Reads a string, or items of any type that OpenAI has. */
export function parseResponseInput(input: unknown): ResponseInput {
  if (typeof input !== 'string' && !Array.isArray(input)) {
    throw invalid('input', "'input' must be a string or an array of items");
  }
  const messages = messagesOfItems(Array.isArray(input) ? input : [input]);
  const outputs = lastOutputs(messages);
  const last = promptIn(messages);
  if (last === -1 && outputs.length === 0) throw new TalariaError('no_user_message', { param: 'input' });
  const after = messages.slice(last + 1).filter(({ role }) => role !== 'system');
  const endsWithResult = after.at(-1)?.role === 'tool';
  const orders = messages.slice(last + 1).filter(({ role }) => role === 'system');
  const leadIn = pairCalls([...messages.slice(0, Math.max(last, 0)), ...orders]);
  return {
    prompt: messages[last]?.content ?? NO_OUTPUT,
    leadIn: leadIn.length === 0 ? undefined : leadIn,
    // An assistant prefill is dropped: a run begins its answer itself.
    followUp: last !== -1 && endsWithResult ? pairCalls(after) : undefined,
    outputs,
    promptIsLast: !endsWithResult && messages[last]?.role === 'user',
  };
}

/** The last user message; without one, the last message with content. */
function promptIn(messages: readonly HistoryMessage[]): number {
  const spoken = messages.findLastIndex(({ role, content }) => role === 'user' && !isBlank(content));
  return spoken === -1 ? messages.findLastIndex(({ content }) => !isBlank(content)) : spoken;
}

function lastOutputs(messages: readonly HistoryMessage[]): ToolOutput[] {
  const end = messages.findLastIndex(({ role }) => role !== 'user' && role !== 'system') + 1;
  const from = messages.slice(0, end).findLastIndex(({ role }) => role !== 'tool') + 1;
  return messages.slice(from, end).map(({ tool_call_id: toolCallId = '', content }) => ({
    toolCallId,
    output: outputText(content),
    error: false,
  }));
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

export function parseMetadata(value: unknown): Record<string, string> {
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

function formatIn(text: unknown): unknown {
  return typeof text === 'object' && text !== null ? (text as { format?: unknown }).format : undefined;
}

function refuseUnmet({ prompt }: Record<string, unknown>): void {
  if (prompt !== undefined && prompt !== null) {
    throw invalid('prompt', "'prompt' names a template stored at OpenAI; put its text into 'input'");
  }
}
