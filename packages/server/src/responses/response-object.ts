/** The response object: the result of a run's records, with every field that OpenAI's clients read. */
import type {
  ApprovalRequest,
  ClientTool,
  OutputForm,
  ResponseItem,
  ResponseObject,
  ResponseStatus,
  ResponseUsage,
  Usage,
} from '@talaria/protocol';
import type { ResponseSettings } from '../journal/responses.ts';
import type { Secrets } from '../secrets/secrets.ts';

/** What is known about a response before its run has done anything. */
export interface ResponseHead {
  responseId: string;
  runId: string;
  /** The last event of the run before the response; -1 for none. */
  afterSeq: number;
  sessionId: string;
  /** In ms. */
  createdAt: number;
  settings: ResponseSettings;
}

export interface ResponseState {
  status: ResponseStatus;
  output: ResponseItem[];
  usage: Usage;
  error: { code: string; message: string } | null;
  /** Why a truncated answer ended. */
  incompleteReason: string | null;
  approval: ApprovalRequest | null;
  /** In ms. */
  completedAt: number | null;
}

export function responseObject(head: ResponseHead, state: ResponseState): ResponseObject {
  const { settings } = head;
  const { used, conversation } = settings;
  return {
    id: head.responseId,
    object: 'response',
    created_at: Math.floor(head.createdAt / 1000),
    completed_at: state.completedAt === null ? null : Math.floor(state.completedAt / 1000),
    status: state.status,
    error: state.error,
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    output: state.output,
    usage: usageOf(state.usage),
    model: settings.model,
    previous_response_id: settings.previous_response_id,
    instructions: settings.instructions,
    metadata: settings.metadata,
    truncation: settings.truncation,
    background: settings.background,
    store: settings.store,
    conversation: conversation === null ? null : { id: conversation },
    tools: settings.tools.map(toWireTool),
    tool_choice:
      typeof settings.tool_choice === 'string'
        ? settings.tool_choice
        : { type: 'function', ...settings.tool_choice },
    parallel_tool_calls: settings.parallel_tool_calls,
    temperature: used.temperature ?? null,
    top_p: used.top_p ?? null,
    max_output_tokens: used.max_output_tokens ?? null,
    reasoning: { effort: used.reasoning_effort ?? null, summary: null },
    service_tier: used.service_tier ?? null,
    text: {
      format: toWireFormat(settings.output_form),
      ...(used.verbosity === undefined ? {} : { verbosity: used.verbosity }),
    },
    run_id: head.runId,
    session_id: head.sessionId,
    approval: state.approval,
  };
}

export function maskedSettings(settings: ResponseSettings, { maskKnown }: Secrets): ResponseSettings {
  const { instructions, metadata, tools, output_form: form } = settings;
  const masked = <T>(value: T): T => JSON.parse(maskKnown(JSON.stringify(value))) as T;
  return {
    ...settings,
    instructions: instructions === null ? null : maskKnown(instructions),
    metadata: Object.fromEntries(Object.entries(metadata).map((pair) => pair.map(maskKnown))),
    tools: tools.length === 0 ? tools : masked(tools),
    output_form: form === null ? null : masked(form),
  };
}

function toWireTool({ name, description, parameters, strict }: ClientTool): object {
  return { type: 'function', name, description, parameters, strict: strict === true };
}

/** An answer is always checked against its schema, whether or not the client asked for strict mode. */
function toWireFormat(form: OutputForm | null): NonNullable<ResponseObject['text']>['format'] {
  if (form === null) return { type: 'text' };
  const { schema, name = 'answer', description } = form;
  if (schema === undefined) return { type: 'json_object' };
  return {
    type: 'json_schema',
    name,
    ...(description === undefined ? {} : { description }),
    schema,
    strict: true,
  };
}

function usageOf(usage: Usage): ResponseUsage | null {
  if (usage.total_tokens === 0) return null;
  return {
    ...usage,
    // Clients add them up without checking for undefined; not every provider counts them.
    input_tokens_details: { cached_tokens: usage.input_tokens_details?.cached_tokens ?? 0 },
    output_tokens_details: { reasoning_tokens: usage.output_tokens_details?.reasoning_tokens ?? 0 },
  };
}
