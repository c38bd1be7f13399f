import { pipeline, Readable, type Transform } from 'node:stream';

/** The bytes after the transform. A failure of the source or of the transform reaches the reader. */
export function through(bytes: AsyncIterable<Uint8Array>, transform: Transform): AsyncIterable<Buffer> {
  pipeline(Readable.from(bytes, { objectMode: false }), transform, () => {});
  return transform;
}
