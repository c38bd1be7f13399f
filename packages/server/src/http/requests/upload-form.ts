/**
 * Reads a multipart form with one file, as it arrives. The fields may come before or after the file, so the bytes are handed
 * over before all fields are known.
 */
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { TalariaError } from '@talaria/protocol';

export interface UploadFields {
  filename: string;
  purpose: string;
}

const PURPOSE = 'user_data';
const FILENAME_MAX = 255;
const PURPOSE_MAX = 100;
const LIMITS = { files: 1, fields: 20, parts: 21, fieldSize: 1_000, headerPairs: 20, headerSize: 8_192 };
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Resolves when the whole form has arrived and `keep` has resolved. */
export async function readUploadForm(
  form: AsyncIterable<Uint8Array>,
  { contentType, maxBytes }: { contentType: string | undefined; maxBytes: number },
  keep: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<UploadFields> {
  const parser = openParser(contentType);
  const parsed = Promise.withResolvers<void>();
  const refuse = (problem: string): void => parsed.reject(invalidForm(problem));
  let filename: string | undefined;
  let purpose = PURPOSE;
  let keeping: Promise<void> = Promise.resolve();
  parser.on('file', (field, bytes, name) => {
    // The parser does not end the bytes of a form that is cut off.
    parsed.promise.catch((error: Error) => bytes.destroy(error));
    bytes.on('error', () => {});
    if (field !== 'file') return refuse(`it has a file '${field}'`);
    // Browsers write a quote like this, and nobody a name with these letters.
    filename = name.replaceAll('%22', '"');
    if (!isFilename(filename)) {
      return refuse(`a name has 1 to ${FILENAME_MAX} characters, and no control characters`);
    }
    keeping = keep(bytes);
    keeping.catch(parsed.reject);
  });
  parser.on('field', (field, value) => {
    if (field === 'purpose') purpose = value;
    if (field === 'file') refuse('the part has no file name');
  });
  for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const) {
    parser.on(limit, () => refuse('it has more than one file, or too many fields'));
  }
  parser.on('error', (error) => refuse(error instanceof Error ? error.message : String(error)));
  parser.on('finish', parsed.resolve);
  const feeding = feed(limited(form, maxBytes), parser, parsed.promise);
  feeding.catch(parsed.reject);
  try {
    await parsed.promise;
    await Promise.all([feeding, keeping]);
  } catch (error) {
    // The caller cleans up what was kept, so it has to know of it.
    await Promise.allSettled([keeping]);
    throw error;
  }
  if (filename === undefined) throw invalidForm('it has no file');
  return { filename, purpose: checkPurpose(purpose) };
}

/** At the pace at which the bytes of the file are taken. Reads to the end of the form, so that the next request can follow. */
async function feed(
  form: AsyncIterable<Uint8Array>,
  parser: BusboyInstance,
  parsed: Promise<void>,
): Promise<void> {
  for await (const piece of form) {
    const written = new Promise<void>((resolve) => parser.write(piece, () => resolve()));
    await Promise.race([written, parsed]);
  }
  parser.end();
}

/** The file has a limit of its own, but a form can have any amount of bytes around it. */
async function* limited(form: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  let size = 0;
  for await (const piece of form) {
    size += piece.length;
    if (size > maxBytes)
      throw new TalariaError('file_too_large', { message: `The form has more than ${maxBytes} bytes` });
    yield piece;
  }
}

function openParser(contentType = ''): BusboyInstance {
  if (!/^multipart\/form-data\s*;/i.test(contentType))
    throw invalidForm(`its Content-Type is '${contentType}'`);
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits: LIMITS });
  } catch (error) {
    throw invalidForm((error as Error).message);
  }
}

function isFilename(name: string): boolean {
  return name !== '' && name.length <= FILENAME_MAX && !CONTROL.test(name);
}

function checkPurpose(purpose: string): string {
  if (purpose.length <= PURPOSE_MAX && !CONTROL.test(purpose)) return purpose === '' ? PURPOSE : purpose;
  const message = `'purpose' must have at most ${PURPOSE_MAX} characters, and no control characters`;
  throw new TalariaError('invalid_request', { message, param: 'purpose' });
}

function invalidForm(problem: string): TalariaError {
  const message = `The body must be a multipart form with one part 'file' that has a file name; ${problem}`;
  return new TalariaError('invalid_request', { message, param: 'file' });
}
