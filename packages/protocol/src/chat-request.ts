/**
 * Reads the body of `POST /v1/chat/completions`. A field that the agent cannot honour is ignored. It is refused only if
 * the client would otherwise wait for something it never gets.
 */
import { TalariaError } from './errors.ts';
import { invalid, optionalFlag, optionalString, parseObject } from './fields.ts';
import { type Content, type HistoryMessage, isBlank, pairCalls, parseMessage } from './messages.ts';
import { parseModelSettings } from './model-settings.ts';
import { type OutputForm, parseOutputFormat } from './output-form.ts';
import type { ModelSettings } from './run.ts';
import { type ClientTools, parseClientTools, type ToolOutput } from './tool-requests.ts';

export interface CreateChat {
  /** The last user message. */
  prompt: Content;
  /** The messages before the prompt, without system messages. */
  history: HistoryMessage[];
  /** The calls after the prompt and their results, where the messages end with tool results. */
  followUp: HistoryMessage[] | undefined;
  /** The results in `followUp`: the outputs of the calls in the last answer. */
  outputs: ToolOutput[];
  /** The system messages. */
  instructions: string | undefined;
  model: string | undefined;
  stream: boolean;
  clientTools: ClientTools | undefined;
  /** The client offered `functions`, the older form: it expects one call at a time, without an id. */
  asFunctions: boolean;
  outputForm: OutputForm | undefined;
  settings: ModelSettings | undefined;
}

export function parseCreateChat(body: unknown): CreateChat {
  const fields = parseObject(body);
  const { messages: given } = fields;
  if (!Array.isArray(given) || given.length === 0) {
    throw new TalariaError('missing_messages', { param: 'messages' });
  }
  const messages = given.map((entry: unknown, i) => parseMessage(withContent(entry), `messages[${i}]`));
  const instructions = messages
    .filter(({ role, content }) => role === 'system' && !isBlank(content))
    .map(({ content }) => textOf(content))
    .join('\n\n');
  const spoken = messages.filter(({ role }) => role !== 'system');
  // A request with instructions only is answered, as OpenAI's models do.
  const isAlone = spoken.length === 0 && instructions !== '';
  if (isAlone) spoken.push({ role: 'user', content: instructions });
  const last = spoken.findLastIndex(({ role, content }) => role === 'user' && !isBlank(content));
  if (last === -1) {
    const message = "No user message found in 'messages'";
    throw new TalariaError('no_user_message', { message, param: 'messages' });
  }
  refuseUnmet(fields);
  const after = spoken.slice(last + 1);
  const endsWithResult = after.at(-1)?.role === 'tool';
  const clientTools = parseClientTools(fields);
  const asFunctions = clientTools !== undefined && (fields.tools ?? undefined) === undefined;
  return {
    prompt: spoken[last]!.content,
    history: pairCalls(spoken.slice(0, last)),
    // An assistant prefill is dropped: a run begins its answer itself.
    followUp: endsWithResult ? pairCalls(after) : undefined,
    outputs: endsWithResult ? lastOutputs(after) : [],
    instructions: isAlone || instructions === '' ? undefined : instructions,
    model: optionalString(fields, 'model') || undefined,
    stream: optionalFlag(fields, 'stream'),
    clientTools: asFunctions ? { ...clientTools, parallel: false } : clientTools,
    asFunctions,
    outputForm: parseOutputFormat(fields.response_format, 'response_format'),
    settings: parseModelSettings(fields),
  };
}

function lastOutputs(messages: readonly HistoryMessage[]): ToolOutput[] {
  const from = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
  return messages.slice(from).map(({ tool_call_id: toolCallId = '', content }) => ({
    toolCallId,
    output: textOf(content),
    error: false,
  }));
}

/** An assistant message that only calls tools may have no content. */
function withContent(entry: unknown): unknown {
  const isBare = typeof entry === 'object' && entry !== null && 'role' in entry && entry.role === 'assistant';
  return isBare ? { content: null, ...entry } : entry;
}

function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function refuseUnmet({ n }: Record<string, unknown>): void {
  if (n !== undefined && n !== null && n !== 1) {
    throw invalid('n', "'n' must be 1: a run gives one answer");
  }
}
