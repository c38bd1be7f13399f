/**
 * Reads a request body as JSON. Bodies arrive as bytes whatever their content type says, as in the reference server,
 * and the route that needs a body parses it: a route that ignores its body (stop) must not refuse a broken one.
 */
import { TalariaError } from '@talaria/protocol';
import { RequestBody } from './body-budget.ts';

/** No client needs deeper values, and they would overflow the stack of code that walks them. */
const DEPTH_MAX = 100;
/**
 * The conversation of the longest context has fewer. A body of the maximum size can hold ten times as many, and reading
 * and hashing them takes seconds in which the server does nothing else.
 */
const VALUES_MAX = 100_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function parseJsonBody(body: unknown): unknown {
  const bytes = body instanceof RequestBody ? body.take() : new Uint8Array();
  // Checked before parsing: parsing a deeply nested text, or one with many members, also takes long.
  const tooMuch = findTooMuch(measure(bytes));
  if (tooMuch !== undefined) throw tooMuch;
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new TalariaError('invalid_json');
  }
}

/** The same for routes whose body is optional: no body counts as an empty object. */
export function parseOptionalJsonBody(body: unknown): unknown {
  const absent = !(body instanceof RequestBody) || body.length === 0;
  return absent ? {} : parseJsonBody(body);
}

interface Measures {
  deepest: number;
  open: number;
  values: number;
}

function findTooMuch({ deepest, open, values }: Measures): TalariaError | undefined {
  if (deepest <= DEPTH_MAX && values <= VALUES_MAX) return undefined;
  if (open !== 0) return new TalariaError('invalid_json');
  const what =
    deepest > DEPTH_MAX ? `is nested deeper than ${DEPTH_MAX} levels` : `has more than ${VALUES_MAX} values`;
  return new TalariaError('invalid_json', { message: `The request body ${what}` });
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * How deep the text is nested, how many brackets it leaves open, and how many values it has, with an empty list or
 * object counted twice. The text need not be JSON. Walking the parsed value instead takes seconds for a body of many
 * small members, and blocks the server meanwhile.
 */
function measure(json: Uint8Array): Measures {
  let [deepest, open, values] = [0, 0, 1];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (byte === COMMA) values += 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values += 1;
      deepest = Math.max(deepest, ++open);
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) open -= 1;
  }
  return { deepest, open, values };
}

function endOfString(json: Uint8Array, start: number): number {
  for (let at = json.indexOf(QUOTE, start); at !== -1; at = json.indexOf(QUOTE, at + 1)) {
    let backslashes = 0;
    while (json[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}
