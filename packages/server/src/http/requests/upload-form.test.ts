import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { readUploadForm } from './upload-form.ts';

const BOUNDARY = 'limit';
const contentType = `multipart/form-data; boundary=${BOUNDARY}`;

interface Part {
  name: string;
  filename?: string;
  body: Buffer | string;
}

function formOf(...parts: Part[]): Buffer {
  const encoded = parts.flatMap(({ name, filename, body }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n`,
    body,
    '\r\n',
  ]);
  return Buffer.concat([...encoded, `--${BOUNDARY}--\r\n`].map((part) => Buffer.from(part)));
}

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(form: Buffer, { size = 64 * 1024, type = contentType, maxBytes = 10_000_000 } = {}) {
  const kept: Buffer[] = [];
  const fields = await readUploadForm(pieces(form, size), { contentType: type, maxBytes }, async (bytes) => {
    for await (const piece of bytes) kept.push(Buffer.from(piece));
  });
  return { ...fields, bytes: Buffer.concat(kept) };
}

const file = (body: Buffer | string = 'hello', filename = 'a.txt'): Part => ({
  name: 'file',
  filename,
  body,
});
const refused = { code: 'invalid_request', param: 'file' };

it('gives the bytes of the file, whatever they are and however they are cut', async () => {
  const awkward = Buffer.concat([
    Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n--\r\n\r\n`),
    randomBytes(3_000),
    Buffer.from(`\r\n--`),
  ]);
  for (const size of [1, 2, 7, 100, 1_000, 10_000]) {
    const { bytes } = await read(formOf(file(awkward)), { size });
    expect(bytes.equals(awkward)).toBe(true);
  }
  expect((await read(formOf(file('')))).bytes).toEqual(Buffer.alloc(0));
});

it.each([
  ['before', [{ name: 'purpose', body: 'vision' }, file()]],
  ['after', [file(), { name: 'purpose', body: 'vision' }, { name: 'expires_after[anchor]', body: 'x' }]],
])('accepts fields %s the file', async (_, parts) => {
  expect(await read(formOf(...parts))).toMatchObject({ purpose: 'vision', filename: 'a.txt' });
});

it('has a purpose if the form has none', async () => {
  expect(await read(formOf(file()))).toMatchObject({ purpose: 'user_data' });
  expect(await read(formOf({ name: 'purpose', body: '' }, file()))).toMatchObject({ purpose: 'user_data' });
});

it.each([
  ['früh & spät "1".csv', 'fr%C3%BCh'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\temp\\a.txt', 'a.txt'],
])('takes the last part of the name %s', async (given) => {
  const { filename } = await read(formOf(file('x', given.replaceAll('"', '\\"'))));
  expect(filename).toBe(given.split(/[/\\]/).at(-1));
});

it.each<[string, Buffer, string]>([
  ['no file', formOf({ name: 'purpose', body: 'x' }), 'it has no file'],
  ['nothing', Buffer.from(`--${BOUNDARY}--\r\n`), 'it has no file'],
  ['a field instead of a file', formOf({ name: 'file', body: 'hello' }), 'the part has no file name'],
  ['an empty name', formOf(file('x', '')), 'a name has 1 to 255 characters'],
  ['a name that is too long', formOf(file('x', 'a'.repeat(256))), 'a name has 1 to 255 characters'],
  ['a name with control characters', formOf(file('x', 'a\u0001b')), 'a name has 1 to 255 characters'],
  ['two files', formOf(file(), file()), 'more than one file'],
  ['a file of another name', formOf({ name: 'image', filename: 'a', body: 'x' }), "a file 'image'"],
  [
    'too many fields',
    formOf(...Array.from({ length: 30 }, () => ({ name: 'a', body: '' })), file()),
    'too many',
  ],
  ['a form that is cut off in the file', formOf(file('x'.repeat(100))).subarray(0, 120), 'nexpected end'],
  ['a form that is cut off after the file', formOf(file()).subarray(0, -6), 'nexpected end'],
  ['no form', Buffer.from('{}'), 'nexpected end'],
  ['an empty body', Buffer.alloc(0), 'nexpected end'],
])('refuses %s', async (_, form, message) => {
  await expect(read(form)).rejects.toMatchObject({ ...refused, message: expect.stringContaining(message) });
});

it.each([
  ['application/json', "its Content-Type is 'application/json'"],
  ['multipart/form-data', "its Content-Type is 'multipart/form-data'"],
  ['multipart/form-data; charset=utf-8', 'Boundary not found'],
  ['application/x-www-form-urlencoded', 'Content-Type'],
])('refuses a body of type %s', async (type, message) => {
  await expect(read(formOf(file()), { type })).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining(message),
  });
});

it('refuses a purpose that is too long or has control characters', async () => {
  for (const body of ['x'.repeat(101), 'a\nb']) {
    await expect(read(formOf(file(), { name: 'purpose', body }))).rejects.toMatchObject({ param: 'purpose' });
  }
});

it('refuses a form with more around the file than allowed, before its end', async () => {
  let sent = 0;
  async function* endless() {
    for (; ; sent++) yield Buffer.alloc(1_000);
  }
  const reading = readUploadForm(endless(), { contentType, maxBytes: 50_000 }, async () => {});
  await expect(reading).rejects.toMatchObject({ code: 'file_too_large' });
  expect(sent).toBe(50);
});

it('stops reading when the bytes cannot be kept, with that reason', async () => {
  let sent = 0;
  const head = formOf(file()).subarray(0, 100);
  async function* endless() {
    yield head;
    for (; ; sent++) yield Buffer.alloc(64 * 1024);
  }
  const full = new Error('full');
  const reading = readUploadForm(endless(), { contentType, maxBytes: 1e12 }, async (bytes) => {
    for await (const _ of bytes) throw full;
  });
  await expect(reading).rejects.toBe(full);
  expect(sent).toBeLessThan(20);
});

it('reads no faster than the bytes are kept', async () => {
  let [sent, kept] = [0, 0];
  const form = formOf(file(Buffer.alloc(5_000_000)));
  async function* counted() {
    for await (const piece of pieces(form, 10_000)) {
      sent += piece.length;
      yield piece;
    }
  }
  await readUploadForm(counted(), { contentType, maxBytes: 1e12 }, async (bytes) => {
    for await (const piece of bytes) {
      kept += piece.length;
      await new Promise((resolve) => setImmediate(resolve));
      expect(sent - kept).toBeLessThan(300_000);
    }
  });
  expect(kept).toBe(5_000_000);
});

it('ends the bytes of a form whose sender leaves', async () => {
  const gone = new Error('gone');
  async function* broken() {
    yield formOf(file(Buffer.alloc(1_000))).subarray(0, 500);
    throw gone;
  }
  let seen: unknown;
  const reading = readUploadForm(broken(), { contentType, maxBytes: 1e12 }, async (bytes) => {
    try {
      for await (const _ of bytes);
    } catch (error) {
      seen = error;
      throw error;
    }
  });
  await expect(reading).rejects.toBe(gone);
  expect(seen).toBe(gone);
});
