import { pipeline, Readable, type Transform } from 'node:stream';

/** What comes out when the bytes pass through; whoever reads gets a failure of either. */
export function through(bytes: AsyncIterable<Uint8Array>, transform: Transform): AsyncIterable<Buffer> {
  pipeline(Readable.from(bytes, { objectMode: false }), transform, () => {});
  return transform;
}
