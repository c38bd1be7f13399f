/**
 * The model when none is configured: no network, no language understanding.
 *
 * It runs the commands found in the prompt (see demo-commands.ts) with the tool `terminal`, one per step so that a
 * watcher can follow, and then reports the output of each. A command that is the name of another tool with arguments
 * (`getWeather {"city": "Oslo"}`) calls that tool. If the request asks for an output format, the answer is the JSON in
 * backticks. The model exists to try clients, sandboxes and approvals offline, and says so in every other answer.
 *
 * It keeps no state: its position follows from the messages alone, so a run recovered after a crash continues where it
 * was. The current turn is everything after its last complete answer. Text added while it works (steering) adds its
 * commands to the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Message, ToolCallPart } from '../../journal/messages.ts';
import { findCommands } from './demo-commands.ts';
import type { Model, StepPart, StepRequest, ToolDefinition } from './model.ts';
import { toModelError } from './model-errors.ts';

const TOOL = 'terminal';

/** Long enough that deltas arrive one by one, as from a real model, and too short to be noticed. */
const DELTA_PAUSE_MS = 3;
const WORDS_PER_DELTA = 3;

const MAX_OUTPUT_LINES = 12;
const MAX_OUTPUT_CHARS = 800;

const HOW_TO_CONFIGURE =
  'This is the built-in demo model: no language model is configured. To use a real one, set OPENAI_BASE_URL ' +
  '(any OpenAI-compatible endpoint) or OPENAI_API_KEY, and TALARIA_MODEL for the model, then restart the server. ' +
  'Token counts of the demo model are word counts.';

const EXPLANATION =
  'I can only run commands: put them in backticks, for example: run `uname -a` and `ls`. ' +
  'Each one runs in the sandbox with the terminal tool, and I report what it printed.';

export class DemoModel implements Model {
  readonly name = 'demo/commands';

  async *streamStep(request: StepRequest): AsyncGenerator<StepPart, void, undefined> {
    const { messages, tools, signal, outputForm } = request;
    try {
      const turn = currentTurn(messages);
      const found = turn.flatMap((message) => (message.role === 'user' ? findCommands(textOf(message)) : []));
      const formed = outputForm === undefined ? undefined : found.find(isJson);
      const commands = found.filter((command) => command !== formed);
      const next = commands[callsIn(turn).length];
      const canRun = tools.some((tool) => tool.name === TOOL);
      const call = next === undefined ? undefined : toCall(next, tools, callsIn(messages).length);
      const text = call ? announce(turn, commands) : (formed ?? report(turn, commands, canRun));

      for (const delta of toDeltas(text)) {
        yield { type: 'text', delta };
        await sleep(DELTA_PAUSE_MS, undefined, { signal });
      }
      const input_tokens = messages.reduce((sum, message) => sum + countWords(textOf(message)), 0);
      const output_tokens = countWords(text) + countWords(call?.arguments ?? '');
      yield {
        type: 'finish',
        content: [{ type: 'text', text }, ...(call ? [call] : [])],
        usage: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
        reason: call ? 'tool_calls' : 'stop',
      };
    } catch (error) {
      throw toModelError(error, { signal });
    }
  }
}

function currentTurn(messages: readonly Message[]): readonly Message[] {
  const answer = messages.findLastIndex(
    (message) => message.role === 'assistant' && message.content.every((part) => part.type !== 'tool_call'),
  );
  return messages.slice(answer + 1);
}

function callsIn(messages: readonly Message[]): ToolCallPart[] {
  return messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.filter((part) => part.type === 'tool_call') : [],
  );
}

/**
 * Undefined if the tool is missing. Ids count through the whole conversation, so that none occurs twice.
 */
function toCall(
  command: string,
  tools: readonly ToolDefinition[],
  callsBefore: number,
): ToolCallPart | undefined {
  const [, named, args = ''] = /^([\w-]+)\s+(\{.*\})$/s.exec(command) ?? [];
  const other = named !== undefined && isJson(args) && tools.some(({ name }) => name === named);
  if (!other && !tools.some(({ name }) => name === TOOL)) return undefined;
  return {
    type: 'tool_call',
    id: `demo_call_${callsBefore + 1}`,
    tool: other ? named : TOOL,
    arguments: other ? args : JSON.stringify({ command }),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function announce(turn: readonly Message[], commands: readonly string[]): string {
  const done = callsIn(turn).length;
  const command = inCode(commands[done] ?? '');
  return `Running command ${done + 1} of ${commands.length}: ${command}\n\n`;
}

function report(turn: readonly Message[], commands: readonly string[], canRun: boolean): string {
  if (commands.length === 0) return `${EXPLANATION}\n\n${HOW_TO_CONFIGURE}`;
  if (!canRun && callsIn(turn).length === 0)
    return `The ${TOOL} tool is not available, so I cannot run anything.\n\n${HOW_TO_CONFIGURE}`;
  const results = callsIn(turn).map((call, index) => {
    const result = turn.find((message) => message.role === 'tool' && message.tool_call_id === call.id);
    const { output, is_error } =
      result?.role === 'tool' ? result : { output: 'There is no result.', is_error: true };
    const heading = `${inCode(commands[index] ?? '')} ${is_error ? 'failed' : 'printed'}:`;
    return `${heading}\n\n\`\`\`\n${shorten(output)}\n\`\`\``;
  });
  return `${[...results, HOW_TO_CONFIGURE].join('\n\n')}`;
}

function shorten(output: string): string {
  const text = output.trimEnd();
  if (text === '') return '(nothing)';
  const lines = text.split('\n');
  const shown = lines.slice(0, MAX_OUTPUT_LINES).join('\n').slice(0, MAX_OUTPUT_CHARS);
  return shown.length < text.length ? `${shown}\n… (${text.length - shown.length} more characters)` : shown;
}

function inCode(command: string): string {
  const [first = '', ...rest] = command.split('\n');
  return `\`${first}${rest.length > 0 ? ' …' : ''}\``;
}

function toDeltas(text: string): string[] {
  const words = text.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? [];
  const deltas: string[] = [];
  for (let i = 0; i < words.length; i += WORDS_PER_DELTA) {
    deltas.push(words.slice(i, i + WORDS_PER_DELTA).join(''));
  }
  return deltas;
}

function textOf(message: Message): string {
  if (message.role === 'tool') return message.output;
  if (typeof message.content === 'string') return message.content;
  return message.content.map((part) => ('text' in part ? part.text : '')).join('\n');
}

function countWords(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}
