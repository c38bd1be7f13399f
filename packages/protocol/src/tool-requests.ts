/**
 * Tools that the client runs: those it offers with a request, which of them the model may or must call, and the outputs
 * it sends. OpenAI has written functions in three forms over the years; all are accepted.
 */
import { TalariaError } from './errors.ts';
import { invalid, optionalFlag, parseObject } from './fields.ts';
import { textOfParts } from './messages.ts';

export interface ClientTool {
  name: string;
  description: string;
  /** A JSON schema of type object. */
  parameters: Record<string, unknown>;
  /** The client wants calls to follow the schema while the model writes them, where the provider can enforce that. */
  strict?: true;
}

export type ToolChoice = 'auto' | 'required' | { name: string };

export interface ClientTools {
  tools: ClientTool[];
  /** What the first step must do; later steps are free. */
  choice: ToolChoice;
  /** Whether one step may call several tools. */
  parallel: boolean;
}

export interface ToolOutput {
  toolCallId: string;
  output: string;
  error: boolean;
}

/** OpenAI's bounds. */
const TOOLS_MAX = 128;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const DESCRIPTION_MAX = 20_000;
const NO_PARAMETERS = { type: 'object', properties: {} };
const TOOL_CALL_ID_MAX = 256;

/** Undefined when the request offers no tools, or wants none of them called. */
export function parseClientTools(fields: Record<string, unknown>): ClientTools | undefined {
  const given = [...asList(fields.tools, 'tools'), ...asList(fields.functions, 'functions')];
  const tools = given.flatMap((entry, i) => parseTool(entry, `tools[${i}]`) ?? []);
  if (tools.length > TOOLS_MAX) {
    throw new TalariaError('invalid_tools', { message: `'tools' must hold at most ${TOOLS_MAX} functions` });
  }
  const twice = tools.find(({ name }, i) => tools.findIndex((other) => other.name === name) !== i);
  if (twice !== undefined) {
    throw new TalariaError('invalid_tools', { message: `'tools' names the function '${twice.name}' twice` });
  }
  const parallel = fields.parallel_tool_calls !== false;
  if (fields.parallel_tool_calls !== null) optionalFlag(fields, 'parallel_tool_calls');
  const { choice, allowed } = parseChoice(fields.tool_choice ?? fields.function_call, tools);
  const offered = allowed === undefined ? tools : tools.filter(({ name }) => allowed.includes(name));
  if (choice === 'none' || offered.length === 0) return undefined;
  return { tools: offered, choice, parallel };
}

export function parseToolOutputs(body: unknown): ToolOutput[] {
  const { outputs } = parseObject(body);
  if (!Array.isArray(outputs) || outputs.length === 0) {
    throw new TalariaError('invalid_tool_outputs', { param: 'outputs' });
  }
  const parsed = outputs.map((entry: unknown, i) => parseOutput(entry, `outputs[${i}]`));
  if (new Set(parsed.map(({ toolCallId }) => toolCallId)).size < parsed.length) {
    const message = "'outputs' must answer each call once";
    throw new TalariaError('invalid_tool_outputs', { message, param: 'outputs' });
  }
  return parsed;
}

/** What the model reads: text unchanged, the text of content parts, and any other value as JSON. */
export function outputText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return textOfParts(value) ?? JSON.stringify(value);
}

function parseOutput(entry: unknown, where: string): ToolOutput {
  const fields = isObject(entry) ? entry : {};
  const { tool_call_id: id, output, error } = fields;
  const isError = error !== undefined && error !== null && error !== false;
  if (typeof id !== 'string' || id === '' || id.length > TOOL_CALL_ID_MAX) {
    const message = `${where} must have the 'tool_call_id' of a pending call`;
    throw new TalariaError('invalid_tool_outputs', { message, param: where });
  }
  if (!('output' in fields) && !isError) {
    throw new TalariaError('invalid_tool_outputs', {
      message: `${where} must have an 'output'`,
      param: where,
    });
  }
  // Some clients put the reason of a failure into the field where others put a flag.
  const text = outputText(output);
  return { toolCallId: id, output: text === '' && typeof error === 'string' ? error : text, error: isError };
}

function parseTool(entry: unknown, where: string): ClientTool | undefined {
  const fields = isObject(entry) ? entry : {};
  const type = fields.type ?? 'function';
  // A tool that OpenAI itself would run, or one whose input has a grammar instead of a schema. The agent has its own tools for
  // these, and clients such as Codex offer them beside functions; the response echoes only the offered functions.
  if (type !== 'function') return undefined;
  const definition = isObject(fields.function) ? fields.function : fields;
  const { name, description, parameters, strict } = definition;
  if (typeof name !== 'string' || !NAME.test(name)) {
    const message = `${where} must have a 'name' of 1 to 64 letters, digits, _ or -`;
    throw new TalariaError('invalid_tools', { message, param: where });
  }
  if (parameters !== undefined && parameters !== null && !isObject(parameters)) {
    const message = `The parameters of '${name}' must be a JSON schema`;
    throw new TalariaError('invalid_tools', { message, param: where });
  }
  return {
    name,
    description: typeof description === 'string' ? description.slice(0, DESCRIPTION_MAX) : '',
    parameters: { ...NO_PARAMETERS, ...parameters },
    ...(strict === true ? { strict } : {}),
  };
}

function parseChoice(
  given: unknown,
  tools: readonly ClientTool[],
): { choice: ToolChoice | 'none'; allowed?: string[] } {
  if (given === undefined || given === null || given === 'auto') return { choice: 'auto' };
  if (given === 'none') return { choice: 'none' };
  if (given === 'required' || given === 'any') return { choice: requireTools('required', tools) };
  if (isObject(given) && given.type === 'allowed_tools') {
    const inner = isObject(given.allowed_tools) ? given.allowed_tools : given;
    const allowed = asList(inner.tools, 'tool_choice').flatMap((tool) => nameIn(tool) ?? []);
    return { choice: inner.mode === 'required' ? requireTools('required', tools) : 'auto', allowed };
  }
  const name = nameIn(given);
  if (name === undefined) {
    // One of the tools that are ignored; there is none to choose here.
    if (isObject(given) && typeof given.type === 'string') return { choice: 'auto' };
    throw invalid('tool_choice', "'tool_choice' must be auto, none, required, or name one of the 'tools'");
  }
  if (!tools.some((tool) => tool.name === name)) {
    if (isObject(given) && given.type === 'custom') return { choice: 'auto' };
    throw invalid('tool_choice', `'tool_choice' names '${name}', which is not in 'tools'`);
  }
  return { choice: { name } };
}

function requireTools(choice: 'required', tools: readonly ClientTool[]): ToolChoice {
  if (tools.length > 0) return choice;
  throw invalid('tool_choice', "'tool_choice' requires a call, but the request has no 'tools'");
}

function nameIn(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const { name } = isObject(value.function) ? value.function : value;
  return typeof name === 'string' ? name : undefined;
}

function asList(value: unknown, param: string): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new TalariaError('invalid_tools', { param });
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
