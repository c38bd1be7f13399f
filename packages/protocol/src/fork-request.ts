/** Reads the body of a fork, as requests.ts reads that of a new run. */
import { TalariaError } from './errors.ts';
import { invalid, optionalString, parseObject } from './fields.ts';
import { type Content, parseInput } from './messages.ts';

export interface ForkRun {
  /** The event to go back to; undefined means the last one. */
  at: number | undefined;
  /** The next message of the user. */
  input: Content | undefined;
  /** In place of those of the run. */
  instructions: string | undefined;
}

export function parseForkRun(body: unknown): ForkRun {
  const fields = parseObject(body);
  return {
    at: parseAt(fields.at),
    input: parseForkInput(fields.input),
    instructions: optionalString(fields, 'instructions'),
  };
}

function parseAt(at: unknown): number | undefined {
  if (at === undefined || at === null) return undefined;
  if (Number.isSafeInteger(at) && Number(at) >= 0) return Number(at);
  throw new TalariaError('invalid_cursor', {
    message: "'at' must be the seq of an event: a whole number, not less than 0",
    param: 'at',
  });
}

/** An empty input is an error in a new run; a fork treats it as absent. */
function parseForkInput(input: unknown): Content | undefined {
  if (input === undefined || input === null || input === '') return undefined;
  const isList = Array.isArray(input);
  if ((!isList && typeof input !== 'string') || (isList && input.length > 1)) {
    throw invalid('input', "'input' of a fork must be a string, or an array of one message");
  }
  return input.length === 0 ? undefined : parseInput(input).prompt;
}
