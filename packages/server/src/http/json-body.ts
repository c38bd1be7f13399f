/**
 * Reads a request's body as JSON. Bodies arrive as bytes whatever their content type says, as the reference
 * server takes them, and are parsed by the route that wants them: a route that ignores its body (stop) must
 * not refuse a broken one.
 */
import { TalariaError } from '@talaria/protocol';

/** Deeper values serve no client and would overflow the stack of whoever walks them. */
const DEPTH_MAX = 100;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function parseJsonBody(body: unknown): unknown {
  const bytes = body instanceof Uint8Array ? body : new Uint8Array();
  // Before it is parsed: that takes long, too, for a text that is nested deep.
  const { deepest, open } = countBrackets(bytes);
  if (deepest > DEPTH_MAX && open === 0) {
    throw new TalariaError('invalid_json', {
      message: `The request body is nested deeper than ${DEPTH_MAX} levels`,
    });
  }
  if (deepest > DEPTH_MAX) throw new TalariaError('invalid_json');
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new TalariaError('invalid_json');
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * How deep the text is nested, and how many brackets it leaves open; it need not be JSON. Walking the parsed value
 * instead takes seconds for a body of many small members, and nothing else is served meanwhile.
 */
function countBrackets(json: Uint8Array): { deepest: number; open: number } {
  let [deepest, open] = [0, 0];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) deepest = Math.max(deepest, ++open);
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) open -= 1;
  }
  return { deepest, open };
}

function endOfString(json: Uint8Array, start: number): number {
  for (let at = json.indexOf(QUOTE, start); at !== -1; at = json.indexOf(QUOTE, at + 1)) {
    let backslashes = 0;
    while (json[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}
