/**
 * Server-sent events, both directions. No I/O: the encoder returns strings, the parser takes strings, the decoder takes
 * bytes.
 *
 * The encoder writes what PROTOCOL.md fixes: an `id:` line with the reader's cursor and one `data:` line, never an
 * `event:` line. The parser follows the WHATWG rules (any of CR, LF, CRLF ends a line; a chunk may be cut
 * anywhere; a frame is dispatched at its blank line and an unfinished last frame is dropped).
 *
 * A comment that follows a numbered frame has no blank line of its own. By the rules a blank line without data means
 * nothing. But widely used readers (httpx-sse) yield an empty event for it once they have seen an id, and their users
 * then parse that as JSON. So such a comment is written before the next frame, or at the very end.
 */

export const SSE_OPEN = ': open\n\n';
export const SSE_KEEPALIVE = ': keepalive\n\n';
/** The form after a frame with an id. */
export const SSE_KEEPALIVE_NUMBERED = ': keepalive\n';
export const SSE_CLOSED = ': stream closed\n';

/** `data` must be one line, as JSON text always is. */
export function encodeSseFrame(id: number | string, data: string): string {
  return `id: ${id}\ndata: ${data}\n\n`;
}

/**
 * The JSON of an event from its stored payload, without parsing that payload.
 * `payload` is the JSON text of an object, possibly empty.
 */
export function encodeEventJson(
  runId: string,
  event: { seq: number; event: string; at: number; payload: string },
): string {
  const { seq, event: name, at, payload } = event;
  // With the brace that ends the payload.
  const rest = payload === '{}' ? '}' : `,${payload.slice(1)}`;
  return `{"event":"${name}","run_id":"${runId}","timestamp":${at / 1000},"seq":${seq}${rest}`;
}

export interface SseMessage {
  /** The last `id:` seen so far on the stream; empty when there was none. */
  id: string;
  /** The `event:` of this frame; empty when there was none. */
  event: string;
  data: string;
}

export interface SseHandlers {
  onMessage(message: SseMessage): void;
  onComment?(text: string): void;
  /** A `retry:` line with a whole number of milliseconds. */
  onRetry?(delayMs: number): void;
}

export interface SseParser {
  feed(chunk: string): void;
}

export function createSseParser(handlers: SseHandlers): SseParser {
  let rest = '';
  let atStart = true;
  let afterCr = false;
  let id = '';
  let event = '';
  let data: string[] = [];

  function line(text: string): void {
    if (text === '') {
      if (data.length > 0) handlers.onMessage({ id, event, data: data.join('\n') });
      event = '';
      data = [];
      return;
    }
    const colon = text.indexOf(':');
    if (colon === 0) {
      handlers.onComment?.(text.slice(1).replace(/^ /, ''));
      return;
    }
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id') {
      if (!value.includes('\0')) id = value;
    } else if (field === 'retry' && /^\d+$/.test(value)) handlers.onRetry?.(Number(value));
  }

  return {
    feed(chunk) {
      if (chunk === '') return;
      let text = chunk;
      if (atStart) {
        atStart = false;
        if (text.startsWith('\uFEFF')) text = text.slice(1);
      }
      // A CR at the end of a chunk has already ended its line; an LF that follows belongs to it.
      if (afterCr && text.startsWith('\n')) text = text.slice(1);
      afterCr = chunk.endsWith('\r');
      let from = 0;
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code !== 10 && code !== 13) continue;
        line(rest + text.slice(from, i));
        rest = '';
        if (code === 13 && text.charCodeAt(i + 1) === 10) i++;
        from = i + 1;
      }
      rest += text.slice(from);
    },
  };
}

export interface SseDecoder {
  feed(bytes: Uint8Array): void;
}

/**
 * The parser for bytes, which may be cut inside a character. Throws a `TypeError` for bytes that are not UTF-8: damaged
 * data must not be read as if it were what the server sent.
 */
export function createSseDecoder(handlers: SseHandlers): SseDecoder {
  const parser = createSseParser(handlers);
  // The parser removes the BOM; the decoder must not remove a second one.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return { feed: (bytes) => parser.feed(decoder.decode(bytes, { stream: true })) };
}
