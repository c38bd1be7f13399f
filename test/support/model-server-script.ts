/**
 * The script language of the test model: what a prompt can make the model do.
 *
 * The script travels inside the prompt, and its position is counted from the conversation (assistant messages after the
 * prompt), so the model server keeps no conversation state: a restarted server under test, two servers sharing the
 * model, or a test that knows only a base URL all see the same answers. Only the number of attempts of a step cannot be
 * derived; it is counted per script id and step.
 */
import { randomBytes } from 'node:crypto';

export interface ScriptedTool {
  name: string;
  /**
   * An object is sent as JSON; a string is sent unchanged, so that a test can send malformed arguments. `{{found …}}`
   * in them stands for the last match of that regular expression in the tool results: what a model has learned.
   */
  arguments: Record<string, unknown> | string;
  id?: string;
}

export interface ScriptedError {
  status: number;
  message: string;
  code?: string;
  type?: string;
  /** Seconds, or any literal value of the header (an HTTP date). */
  retryAfter?: number | string;
  retryAfterMs?: number;
}

/** A piece of streamed text, or a place in the stream where the model waits for `open(gate)`. */
type Piece = string | { gate: string };

/** As a piece, or as one that a prompt does not have to contain in full: a text, repeated. */
export type Chunk = Piece | { repeat: string; times: number };

/** One answer of the model. Fields combine: reasoning comes first, then text, then tool calls. */
export interface Step {
  /** Waits for `open(gate)` before the response starts. */
  gate?: string;
  reasoning?: string;
  text?: string;
  /** Into how many pieces `text` is cut (default 3), or the pieces themselves, which then replace `text`. */
  chunks?: number | Chunk[];
  /** Pause between the pieces of text. */
  delayMs?: number;
  tools?: ScriptedTool[];
  usage?: { input: number; output: number };
  finish?: 'stop' | 'length' | 'content_filter' | 'tool_calls';
  /** An answer with no content at all. */
  empty?: boolean;

  /** Faults. With `times` only the first n tries of this step fail; the next one plays the rest of the step. */
  error?: ScriptedError;
  /** Status 200, then an error object inside the stream. */
  streamError?: { message: string; code?: string; type?: string };
  /** Never answers, or stops after the first piece and keeps the connection open. */
  hang?: 'before' | 'mid';
  /** Destroys the connection, before the headers or after the first piece. */
  disconnect?: 'before' | 'mid';
  /** Ends the response normally after the first piece, but without a finish reason. */
  truncated?: boolean;
  /** A chunk that is not JSON after the first piece. */
  malformed?: boolean;
  times?: number;
}

const FAULTS = ['error', 'streamError', 'hang', 'disconnect', 'truncated', 'malformed'] as const;

export interface ScriptPosition {
  scriptId: string;
  /** Zero-based; may be past the end of the script. */
  index: number;
  step: Step | undefined;
}

/** A prompt that makes the model play `steps`, one per model call. Text around the line does no harm. */
export function script(steps: Step[]): string {
  return `SCRIPT id=${randomBytes(6).toString('hex')} ${JSON.stringify(steps)}`;
}

/**
 * The position of a conversation in its most recent script. A script may also be in the instructions, where no page shows it: it
 * is then played from the last message of the user on.
 */
export function findPosition(messages: readonly WireMessage[]): ScriptPosition | undefined {
  const isUser = ({ role }: WireMessage) => role === 'user';
  for (let i = messages.length - 1; i >= 0; i--) {
    if (!isUser(messages[i]!)) continue;
    const found = positionIn(textOf(messages[i]!), messages.slice(i + 1));
    if (found !== undefined) return found;
  }
  const instructions = messages.find(({ role }) => role === 'system');
  if (instructions === undefined) return undefined;
  return positionIn(textOf(instructions), messages.slice(messages.findLastIndex(isUser) + 1));
}

function positionIn(text: string, later: readonly WireMessage[]): ScriptPosition | undefined {
  const line = /^SCRIPT (?:id=(\S+) )?(\[.*\])\s*$/m.exec(text);
  if (!line) return undefined;
  const json = line[2] ?? '[]';
  const index = later.filter(({ role }) => role === 'assistant').length;
  return { scriptId: line[1] ?? json, index, step: (JSON.parse(json) as Step[])[index] };
}

/** The step as its n-th attempt (zero-based) plays it: without its faults when `times` is used up. */
export function stepForTry(step: Step, tries: number): Step {
  if (step.times === undefined || tries < step.times) return step;
  const played = { ...step };
  for (const fault of FAULTS) delete played[fault];
  return played;
}

export interface WireMessage {
  role: string;
  content?: string | { type: string; text?: string }[] | null;
}

export function textOf(message: WireMessage): string {
  if (typeof message.content === 'string') return message.content;
  return (message.content ?? []).map((part) => part.text ?? '').join('');
}

/** The arguments of a call, with what the conversation has shown so far. */
export function argumentsOf(tool: ScriptedTool, messages: readonly WireMessage[]): string {
  const text = typeof tool.arguments === 'string' ? tool.arguments : JSON.stringify(tool.arguments);
  return text.replace(/\{\{found (.+?)\}\}/g, (whole, pattern: string) => {
    const told = messages.filter(({ role }) => role === 'tool').map(textOf);
    return told.flatMap((result) => result.match(new RegExp(pattern, 'g')) ?? []).at(-1) ?? whole;
  });
}

/** The text of a step in the pieces it is streamed in. */
export function chunksOf(step: Step): Piece[] {
  if (Array.isArray(step.chunks)) {
    return step.chunks.map((chunk) =>
      typeof chunk === 'object' && 'repeat' in chunk ? chunk.repeat.repeat(chunk.times) : chunk,
    );
  }
  return step.text ? cut(step.text, step.chunks ?? 3) : [];
}

/** Cuts into at most `count` pieces of about the same length, never inside a character. */
export function cut(text: string, count: number): string[] {
  const characters = Array.from(text);
  const size = Math.max(1, Math.ceil(characters.length / Math.max(1, count)));
  const pieces: string[] = [];
  for (let i = 0; i < characters.length; i += size) pieces.push(characters.slice(i, i + size).join(''));
  return pieces;
}
