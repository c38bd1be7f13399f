/** `/v1/files`: what clients upload, in OpenAI's shapes (PROTOCOL.md). */

import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as immediate } from 'node:timers/promises';
import type { FileDeleted, FileList, StoredFile } from '@talaria/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { CheckedApi, expectError, expectSecurityHeaders } from './checked-api.ts';
import { apiOf, type GetTarget, type Target, uniqueName } from './target.ts';

const MISSING_FILE = `file-${'0'.repeat(32)}`;
const BOUNDARY = 'conformance';
const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

interface Part {
  name: string;
  filename?: string;
  body: Uint8Array | string;
}

function formOf(...parts: Part[]): Buffer<ArrayBuffer> {
  const encoded = parts.flatMap(({ name, filename, body }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n`,
    body,
    '\r\n',
  ]);
  return Buffer.concat([...encoded, `--${BOUNDARY}--\r\n`].map((part) => Buffer.from(part as string)));
}

const filePart = (body: Uint8Array | string = 'hello', filename = 'hello.txt'): Part => ({
  name: 'file',
  filename,
  body,
});

export function describeFiles(target: GetTarget): void {
  const api = () => apiOf(target());
  const made: string[] = [];
  const upload = async (...parts: Part[]) => {
    const answer = await api().request<StoredFile>('POST', '/v1/files', {
      raw: formOf(...parts),
      headers: FORM,
    });
    if (answer.status === 200) made.push(answer.body.id);
    return answer;
  };
  const create = async (...parts: Part[]): Promise<StoredFile> => {
    const { status, body } = await upload(...parts);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  };
  const list = async (query: Record<string, string> = {}) => {
    const { status, body } = await api().get<FileList>(`/v1/files?${new URLSearchParams(query)}`);
    expect(status).toBe(200);
    return body;
  };
  const content = (id: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetchBytes(target(), method, `/v1/files/${id}/content`, headers);

  describe('files', () => {
    afterEach(async () => {
      for (const id of made.splice(0)) await api().request('DELETE', `/v1/files/${id}`);
    });

    it('an uploaded file is shown in the form of OpenAI, and reads as it was sent', async () => {
      const bytes = randomBytes(3_000_000);
      const file = await create({ name: 'purpose', body: 'assistants' }, filePart(bytes, 'random.bin'));
      expect(file).toMatchObject({
        object: 'file',
        bytes: bytes.length,
        filename: 'random.bin',
        purpose: 'assistants',
        status: 'processed',
        sha256: createHash('sha256').update(bytes).digest('hex'),
      });
      expect(file.id).toMatch(/^file-[0-9a-f]{32}$/);
      expect(Math.abs(file.created_at - Date.now() / 1000)).toBeLessThan(600);
      expect((await api().get(`/v1/files/${file.id}`)).body).toEqual(file);
      expect((await content(file.id)).bytes.equals(bytes)).toBe(true);
    });

    it('a file may be empty, and its purpose may come after it or be missing', async () => {
      const empty = await create(filePart(''));
      expect(empty).toMatchObject({ bytes: 0, purpose: 'user_data' });
      expect((await content(empty.id)).bytes).toEqual(Buffer.alloc(0));
      expect(await create(filePart(), { name: 'purpose', body: 'vision' })).toMatchObject({
        purpose: 'vision',
      });
    });

    it('two files of the same name and bytes are two files', async () => {
      const [first, second] = [await create(filePart()), await create(filePart())];
      expect(first.id).not.toBe(second.id);
      await api().request('DELETE', `/v1/files/${first.id}`);
      expect((await content(second.id)).bytes.toString()).toBe('hello');
    });

    it.each([
      ['früh – 1.txt', 'früh – 1.txt'],
      ['../../etc/passwd', 'passwd'],
      ['a b%20c.txt', 'a b%20c.txt'],
      ['say %22hi%22.txt', 'say "hi".txt'],
    ])('the name %s becomes %s', async (given, filename) => {
      expect(await create(filePart('x', given))).toMatchObject({ filename });
    });

    it.each<[string, Part[]]>([
      ['no file', [{ name: 'purpose', body: 'vision' }]],
      ['a file without a name', [{ name: 'file', body: 'hello' }]],
      ['an empty name', [filePart('x', '')]],
      ['two files', [filePart(), filePart()]],
      ['a file of another name', [{ ...filePart(), name: 'image' }]],
    ])('refuses a form with %s', async (_, parts) => {
      expectError(await upload(...parts), { status: 400, code: 'invalid_request', param: 'file' });
    });

    it('refuses a body that is no form, and one that is cut off, and creates nothing', async () => {
      const before = (await list()).data.length;
      const post = (raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
        api().request('POST', '/v1/files', { raw, headers });
      for (const headers of [
        FORM,
        { 'content-type': 'application/json' },
        { 'content-type': 'multipart/form-data' },
      ]) {
        expectError(await post('{"file":"hello"}', headers), {
          status: 400,
          code: 'invalid_request',
          param: 'file',
        });
      }
      const form = formOf(filePart('x'.repeat(200_000)));
      expectError(await post(form.subarray(0, 100_000), FORM), {
        status: 400,
        code: 'invalid_request',
        param: 'file',
      });
      expectError(await post(form.subarray(0, -4), FORM), {
        status: 400,
        code: 'invalid_request',
        param: 'file',
      });
      expectError(await api().request('POST', '/v1/files'), {
        status: 400,
        code: 'invalid_request',
        param: 'file',
      });
      expect((await list()).data).toHaveLength(before);
    });

    it('a client that leaves half-way leaves no file', async () => {
      const purpose = uniqueName('left').slice(0, 50);
      const form = formOf({ name: 'purpose', body: purpose }, filePart('x'.repeat(3_000_000)));
      const leaving = new AbortController();
      async function* half() {
        yield form.subarray(0, 2_000_000);
        leaving.abort();
        await new Promise(() => {});
      }
      const sent = fetch(`${target().baseUrl}/v1/files`, {
        method: 'POST',
        headers: { ...authOf(target()), ...FORM },
        body: half() as never,
        duplex: 'half',
        signal: leaving.signal,
      } as RequestInit);
      await expect(sent).rejects.toThrow();
      expect((await list({ purpose })).data).toEqual([]);
    });

    it('lists files newest first, in pages, by purpose', async () => {
      const purpose = uniqueName('page').slice(0, 50);
      const files: string[] = [];
      for (let i = 0; i < 5; i++) {
        files.push((await create({ name: 'purpose', body: purpose }, filePart(`${i}`))).id);
      }
      const newest = files.toReversed();
      const all = await list({ purpose });
      expect(all).toMatchObject({
        object: 'list',
        first_id: newest[0],
        last_id: newest[4],
        has_more: false,
        next_cursor: null,
      });
      expect(all.data.map(({ id }) => id)).toEqual(newest);
      const page = await list({ purpose, limit: '2' });
      expect(page.data.map(({ id }) => id)).toEqual(newest.slice(0, 2));
      expect(page).toMatchObject({ has_more: true, last_id: newest[1], next_cursor: newest[1] });
      const rest = await list({ purpose, limit: '3', after: page.last_id! });
      expect(rest.data.map(({ id }) => id)).toEqual(newest.slice(2));
      expect(rest.has_more).toBe(false);
      const upwards = await list({ purpose, order: 'asc', after: files[1]! });
      expect(upwards.data.map(({ id }) => id)).toEqual(files.slice(2));
      expect(await list({ purpose: `${purpose}-not` })).toMatchObject({
        data: [],
        first_id: null,
        last_id: null,
      });
    });

    it('a list continues after a file that was deleted meanwhile', async () => {
      const purpose = uniqueName('gone').slice(0, 50);
      const files: string[] = [];
      for (let i = 0; i < 3; i++) {
        files.push((await create({ name: 'purpose', body: purpose }, filePart(`${i}`))).id);
      }
      await api().request('DELETE', `/v1/files/${files[1]}`);
      const { data } = await list({ purpose, after: files[1]! });
      expect(data.map(({ id }) => id)).toEqual([files[0]]);
    });

    it.each([
      ['limit', '0'],
      ['limit', '10001'],
      ['limit', 'x'],
      ['order', 'up'],
    ])('refuses a list with %s=%s', async (name, value) => {
      expectError(await api().get(`/v1/files?${name}=${value}`), {
        status: 400,
        code: 'invalid_request',
        param: name,
      });
    });

    it('content is sent as a download that no browser shows, whatever its name', async () => {
      const { id, sha256 } = await create(filePart('<script>alert(1)</script>', 'früh.html'));
      const { status, headers } = await content(id);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/octet-stream');
      expect(headers.get('content-disposition')).toBe(
        `attachment; filename="fr_h.html"; filename*=UTF-8''fr%C3%BCh.html`,
      );
      expect(headers.get('etag')).toBe(`"${sha256}"`);
      expect(headers.get('accept-ranges')).toBe('bytes');
      expectSecurityHeaders(headers, 'content');
    });

    it('content is sent in part, or not again, or as headers alone', async () => {
      const bytes = randomBytes(2_500_000);
      const { id, sha256 } = await create(filePart(bytes));
      const size = bytes.length;
      for (const [range, start, end] of [
        ['bytes=0-0', 0, 1],
        ['bytes=1048570-1048580', 1_048_570, 1_048_581],
        ['bytes=100-', 100, size],
        ['bytes=-5', size - 5, size],
      ] as const) {
        const part = await content(id, { range });
        expect(part.status).toBe(206);
        expect(part.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${size}`);
        expect(part.bytes.equals(bytes.subarray(start, end))).toBe(true);
      }
      const none = await content(id, { range: `bytes=${size}-` });
      expect([none.status, none.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
      expect((await content(id, { 'if-none-match': `"${sha256}"` })).status).toBe(304);
      expect((await content(id, { range: 'bytes=0-0', 'if-range': '"other"' })).bytes).toHaveLength(size);
      const head = await content(id, {}, 'HEAD');
      expect([head.status, head.headers.get('content-length'), head.bytes.length]).toEqual([
        200,
        String(size),
        0,
      ]);
    });

    it('a deleted file is gone', async () => {
      const { id } = await create(filePart());
      const { status, body } = await api().request<FileDeleted>('DELETE', `/v1/files/${id}`);
      expect({ status, body }).toEqual({ status: 200, body: { id, object: 'file', deleted: true } });
      for (const [method, path] of REQUESTS) {
        expectError(await api().request(method, `/v1/files/${id}${path}`), {
          status: 404,
          code: 'file_not_found',
        });
      }
      expect((await list()).data.map((file) => file.id)).not.toContain(id);
    });

    it.each([MISSING_FILE, 'file-x', 'nothing'])('there is no file %s', async (id) => {
      for (const [method, path] of REQUESTS) {
        expectError(await api().request(method, `/v1/files/${id}${path}`), {
          status: 404,
          code: 'file_not_found',
        });
      }
    });

    it('many uploads at the same time all arrive', async () => {
      const contents = Array.from({ length: 10 }, () => randomBytes(200_000));
      const files = await Promise.all(contents.map((bytes) => create(filePart(bytes))));
      for (const [i, { id }] of files.entries()) {
        expect((await content(id)).bytes.equals(contents[i]!)).toBe(true);
      }
    });

    it('an answer comes while the client still sends, if the form is refused', async () => {
      let isAnswered = false;
      async function* untilAnswered() {
        // Without its end: the second part goes on.
        yield formOf({ name: 'file', body: 'no name' }, filePart()).subarray(0, -20);
        while (!isAnswered) {
          yield Buffer.alloc(64 * 1024);
          await immediate();
        }
      }
      const answer = await fetch(`${target().baseUrl}/v1/files`, {
        method: 'POST',
        headers: { ...authOf(target()), ...FORM },
        body: untilAnswered() as never,
        duplex: 'half',
      } as RequestInit);
      isAnswered = true;
      expect(answer.status).toBe(400);
    });
  });
}

const REQUESTS: [string, string][] = [
  ['GET', ''],
  ['GET', '/content'],
  ['DELETE', ''],
];

export function describeFileOwnership(target: GetTarget): void {
  it('a file of another key looks like one that does not exist', async () => {
    const mine = apiOf(target());
    const theirs = new CheckedApi(target().baseUrl, target().otherKey);
    const created = await mine.request<StoredFile>('POST', '/v1/files', {
      raw: formOf(filePart()),
      headers: FORM,
    });
    const { id } = created.body;
    for (const [method, path] of REQUESTS) {
      const [found, missing] = [
        await theirs.request(method, `/v1/files/${id}${path}`),
        await theirs.request(method, `/v1/files/${MISSING_FILE}${path}`),
      ];
      expectError(found, { status: 404, code: 'file_not_found' });
      expect(JSON.stringify(found.body).replaceAll(id, '')).toBe(
        JSON.stringify(missing.body).replaceAll(MISSING_FILE, ''),
      );
    }
    const { body } = await theirs.get<FileList>('/v1/files');
    expect(body.data.map((file) => file.id)).not.toContain(id);
    expect((await mine.get(`/v1/files/${id}`)).status).toBe(200);
    await mine.request('DELETE', `/v1/files/${id}`);
  });
}

function authOf({ key }: Target): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

async function fetchBytes(
  target: Target,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const response = await fetch(target.baseUrl + path, { method, headers: { ...authOf(target), ...headers } });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}
