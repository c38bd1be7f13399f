/** Values in JSON, one per line, as the API of Kubernetes sends what is watched. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

export async function* jsonLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<unknown, void> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...parts, chunk.subarray(start, end)]).toString('utf8');
      if (line.trim() !== '') yield JSON.parse(line);
      [parts, length, start] = [[], 0, end + 1];
    }
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > MAX_LINE_BYTES) throw new Error('its answer is too long');
  }
}
