/**
 * A multipart form with one file. Bytes and blobs become a `FormData`, which can be sent again. A stream is sent as it comes,
 * where the platform can do that; browsers cannot over HTTP/1.1, and there it is collected first.
 */
import type { UploadBody } from './transport.ts';

export type Uploadable = UploadBody | AsyncIterable<Uint8Array>;

/** What a request needs to send it. */
export interface Form {
  bytes: FormData | ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
}

interface Upload {
  file: Uploadable;
  filename?: string | undefined;
  purpose?: string | undefined;
}

const NAME = 'file';
const PURPOSE = 'user_data';

export async function toForm({ file, filename, purpose = PURPOSE }: Upload): Promise<Form> {
  const name = filename ?? nameOf(file);
  if (file instanceof Blob) return blobForm(file, name, purpose);
  if (typeof file === 'string' || file instanceof Uint8Array || file instanceof ArrayBuffer) {
    return blobForm(new Blob([file] as ConstructorParameters<typeof Blob>[0]), name, purpose);
  }
  const stream = toStream(file);
  if (isBrowser()) return blobForm(await new Response(stream).blob(), name, purpose);
  return streamForm(stream, name, purpose);
}

function blobForm(file: Blob, name: string, purpose: string): Form {
  const form = new FormData();
  // Before the file, so that a server knows it when the file begins.
  form.set('purpose', purpose);
  form.set('file', file, name);
  return { bytes: form };
}

function streamForm(file: ReadableStream<Uint8Array>, name: string, purpose: string): Form {
  const boundary = `talaria-${crypto.randomUUID()}`;
  const field = (head: string): string => `--${boundary}\r\nContent-Disposition: form-data; ${head}`;
  const head = new TextEncoder().encode(
    `${field('name="purpose"')}\r\n\r\n${purpose}\r\n` +
      `${field(`name="file"; filename="${escaped(name)}"`)}\r\nContent-Type: application/octet-stream\r\n\r\n`,
  );
  const tail = new TextEncoder().encode(`\r\n--${boundary}--\r\n`);
  const reader = file.getReader();
  let begun = false;
  const bytes = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!begun) {
          begun = true;
          controller.enqueue(head);
          return;
        }
        const { done, value } = await reader.read();
        if (!done) {
          controller.enqueue(value);
          return;
        }
        controller.enqueue(tail);
        controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { bytes, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } };
}

/** As browsers write it. */
function escaped(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function nameOf(file: Uploadable): string {
  const { name } = file as { name?: unknown };
  return file instanceof Blob && typeof name === 'string' && name !== '' ? name : NAME;
}

function toStream(file: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  if (file instanceof ReadableStream) return file;
  const iterator = file[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** A page or a worker of one. */
function isBrowser(): boolean {
  return 'document' in globalThis || 'importScripts' in globalThis;
}
