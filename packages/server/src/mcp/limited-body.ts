/**
 * Limits how much of an HTTP response must be held at once: a whole body, or one event of a stream.
 */

export function limitBody(response: Response, maxBytes: number): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const limited = response.body.pipeThrough(createLimit(maxBytes, isStream));
  return new Response(limited, response);
}

function createLimit(maxBytes: number, perEvent: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      // An event ends with an empty line; at most the start of the next one is in the same chunk.
      if (perEvent && hasEmptyLine(chunk)) bytes = 0;
      bytes += chunk.length;
      if (bytes > maxBytes) controller.error(new Error(`the answer has more than ${maxBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

function hasEmptyLine(chunk: Uint8Array): boolean {
  const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return buffer.includes('\n\n') || buffer.includes('\r\n\r\n') || buffer.includes('\r\r');
}
