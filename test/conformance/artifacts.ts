/** The files of a run's workspace: listed, read in whole or in part, downloaded as an archive (PROTOCOL.md). */
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { ArtifactList } from '@talaria/protocol';
import { beforeAll, describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { CheckedApi, expectError, expectSecurityHeaders } from './checked-api.ts';
import { exchange, head } from './raw-http.ts';
import { apiOf, type GetTarget, HeldRun, MISSING_RUN, say, terminal } from './target.ts';

const TEXT = 'first line\nsecond line — ünï\n';
const BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
const MAKE_FILES = [
  `printf "$(printf '\\\\%03o' $(seq 0 255))" > bytes.bin`,
  'mkdir -p empty tree/deep; echo one > tree/1; echo two > tree/deep/2; : > nothing',
  'ln -s /etc/passwd link; ln -s /etc dir-link; ln -s nowhere dangling; mkfifo pipe',
  `echo '<script>alert(1)</script>' > page.html; echo '<svg/>' > image.svg; echo q > 'a "quoted" ü.txt'`,
].join('\n');

export function describeArtifacts(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('artifacts', () => {
    let runId: string;
    const url = (path: string, query: Record<string, string> = {}) =>
      `/v1/runs/${runId}/artifacts${path}?${new URLSearchParams(query)}`;
    const content = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      fetchBytes(target(), method, url('/content', { path }), headers);

    beforeAll(async () => {
      const files = script([
        { tools: [{ name: 'write_file', arguments: { path: 'notes/text.md', content: TEXT } }] },
        { tools: [terminal(MAKE_FILES)] },
        { text: 'done' },
      ]);
      runId = await api().create(files);
      expect(await api().finish(runId)).toMatchObject({ event: 'run.completed' });
    });

    describe('listing', () => {
      const list = async (query: Record<string, string> = {}) => {
        const { status, body } = await api().get<ArtifactList>(url('', query));
        expect(status).toBe(200);
        expect(body).toMatchObject({ object: 'list', run_id: runId, truncated: false });
        return body.data;
      };

      it('shows the entries of the workspace, with their types', async () => {
        const found = new Map((await list()).map((entry) => [entry.path, entry]));
        expect(found.get('bytes.bin')).toMatchObject({ type: 'file', size: 256 });
        expect(found.get('tree')).toMatchObject({ type: 'directory', size: 0 });
        expect(found.get('link')).toMatchObject({ type: 'symlink' });
        expect(found.get('dangling')).toMatchObject({ type: 'symlink' });
        expect(found.get('pipe')).toMatchObject({ type: 'fifo' });
        expect(found.has('tree/1')).toBe(false);
        expect(Math.abs(found.get('bytes.bin')!.modified_at - Date.now() / 1000)).toBeLessThan(600);
      });

      it('lists directories below with recursive, from any directory, with paths from the workspace', async () => {
        const paths = (await list({ path: 'tree', recursive: 'true' })).map(({ path }) => path);
        expect(paths).toEqual(['tree/1', 'tree/deep', 'tree/deep/2']);
        expect((await list({ path: 'tree', recursive: 'false' })).map(({ path }) => path)).toEqual([
          'tree/1',
          'tree/deep',
        ]);
        expect((await list({ recursive: '1' })).map(({ path }) => path)).not.toContain('dir-link/passwd');
      });

      it('of an empty directory is empty, of a file is that file', async () => {
        expect(await list({ path: 'empty' })).toEqual([]);
        expect(await list({ path: 'tree/1' })).toMatchObject([{ path: 'tree/1', type: 'file', size: 4 }]);
      });

      it('is empty for a run that has not used its tools', async () => {
        const silent = await api().create(say('nothing'));
        await api().finish(silent);
        for (const query of ['', '?recursive=true', '?path=']) {
          const { status, body } = await api().get<ArtifactList>(`/v1/runs/${silent}/artifacts${query}`);
          expect({ status, data: body.data }).toEqual({ status: 200, data: [] });
        }
        for (const path of ['?path=x', '/content?path=x', '/archive']) {
          const answer = await api().get(`/v1/runs/${silent}/artifacts${path}`);
          expectError(answer, { status: 404, code: 'artifact_not_found' });
        }
      });

      it('works while the run is unfinished', async () => {
        const steps = [{ tools: [terminal('echo early > file')] }, { text: 'done' }];
        await using held = await HeldRun.start(target(), [steps[0]!, { ...steps[1]!, hang: 'before' }]);
        held.release();
        // The shell makes the file before it writes into it.
        await expect
          .poll(
            async () => (await api().get<string>(`/v1/runs/${held.runId}/artifacts/content?path=file`)).body,
          )
          .toBe('early\n');
        const listed = await api().get<ArtifactList>(`/v1/runs/${held.runId}/artifacts?path=file`);
        expect(listed.status).toBe(200);
        expect((await api().run(held.runId)).status).toBe('running');
      });
    });

    describe('content', () => {
      it('is the bytes of the file, with their digest as the tag', async () => {
        for (const [path, bytes] of [
          ['bytes.bin', BYTES],
          ['notes/text.md', Buffer.from(TEXT)],
          ['nothing', Buffer.alloc(0)],
        ] as const) {
          const answer = await content(path);
          expect(answer.status).toBe(200);
          expect(answer.bytes).toEqual(bytes);
          expect(answer.headers.get('etag')).toBe(`"${createHash('sha256').update(bytes).digest('hex')}"`);
          expect(answer.headers.get('content-length')).toBe(String(bytes.length));
          expect(answer.headers.get('accept-ranges')).toBe('bytes');
        }
      });

      it.each(['page.html', 'image.svg'])('%s is never shown as a page', async (path) => {
        const { headers } = await content(path);
        expect(headers.get('content-type')).toBe('application/octet-stream');
        expect(headers.get('content-disposition')).toBe(`attachment; filename="${path}"`);
        expectSecurityHeaders(headers);
      });

      it('has a file name that is safe in a header', async () => {
        const { headers } = await content('a "quoted" ü.txt');
        expect(headers.get('content-disposition')).toBe(
          `attachment; filename="a _quoted_ _.txt"; filename*=UTF-8''a%20%22quoted%22%20%C3%BC.txt`,
        );
      });

      it.each([
        ['bytes=0-9', 0, 10],
        ['bytes=100-', 100, 256],
        ['bytes=-6', 250, 256],
        ['bytes=255-255', 255, 256],
        ['bytes=250-9999', 250, 256],
        ['bytes=-9999', 0, 256],
      ])('the range %s is a part', async (range, start, end) => {
        const answer = await content('bytes.bin', { range });
        expect(answer.status).toBe(206);
        expect(answer.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/256`);
        expect(answer.headers.get('content-length')).toBe(String(end - start));
        expect(answer.bytes).toEqual(BYTES.subarray(start, end));
      });

      it.each(['bytes=256-', 'bytes=300-400', 'bytes=9-5', 'bytes=-0', 'bytes=x-y'])(
        'the range %s is not satisfiable',
        async (range) => {
          const answer = await content('bytes.bin', { range });
          expectError(
            { status: answer.status, body: JSON.parse(answer.bytes.toString()) },
            { status: 416, code: 'range_not_satisfiable' },
          );
          expect(answer.headers.get('content-range')).toBe('bytes */256');
        },
      );

      it.each(['bytes=0-1,5-6', 'lines=1-2'])('the range %s gets the whole file', async (range) => {
        const answer = await content('bytes.bin', { range });
        expect(answer.status).toBe(200);
        expect(answer.bytes).toEqual(BYTES);
      });

      it('is not sent again to a client that has it', async () => {
        const { headers } = await content('bytes.bin');
        const tag = headers.get('etag')!;
        for (const value of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
          const answer = await content('bytes.bin', { 'if-none-match': value, range: 'bytes=0-1' });
          expect(answer.status).toBe(304);
          expect(answer.bytes).toHaveLength(0);
          expect(answer.headers.get('etag')).toBe(tag);
        }
        expect((await content('bytes.bin', { 'if-none-match': '"other"' })).status).toBe(200);
      });

      it('is sent in part only to a client that has the rest of the same version', async () => {
        const { headers } = await content('bytes.bin');
        const tag = headers.get('etag')!;
        const range = 'bytes=10-19';
        expect((await content('bytes.bin', { range, 'if-range': tag })).status).toBe(206);
        for (const other of ['"other"', `W/${tag}`, new Date().toUTCString()]) {
          expect((await content('bytes.bin', { range, 'if-range': other })).status).toBe(200);
        }
      });

      it('has the same headers for HEAD, and no body', async () => {
        const get = await content('bytes.bin');
        const onlyHead = await content('bytes.bin', {}, 'HEAD');
        expect(onlyHead.status).toBe(200);
        for (const name of [
          'etag',
          'content-length',
          'content-type',
          'content-disposition',
          'accept-ranges',
        ]) {
          expect(onlyHead.headers.get(name), name).toBe(get.headers.get(name));
        }
        expect((await content('missing', {}, 'HEAD')).status).toBe(404);
        expect((await content('link', {}, 'HEAD')).status).toBe(400);
      });
    });

    describe('archives', () => {
      it.each([
        ['tar.gz', 'application/gzip'],
        ['tgz', 'application/gzip'],
        ['tar', 'application/x-tar'],
        ['zip', 'application/zip'],
      ])('of a directory as %s', async (format, type) => {
        const answer = await fetchBytes(target(), 'GET', url('/archive', { path: 'tree', format }));
        expect(answer.status).toBe(200);
        expect(answer.headers.get('content-type')).toBe(type);
        expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="tree.${format}"`);
        expectSecurityHeaders(answer.headers);
        const plain =
          answer.headers.get('content-type') === 'application/gzip' ? gunzipSync(answer.bytes) : answer.bytes;
        if (format === 'zip') {
          expect(plain.toString('latin1')).toContain('deep/2');
        } else {
          expect(tarEntries(plain)).toEqual({ '1': 'one\n', 'deep/': '', 'deep/2': 'two\n' });
        }
      });

      it('of everything, as tar.gz by default, without links and pipes', async () => {
        const answer = await fetchBytes(target(), 'GET', url('/archive'));
        expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${runId}.tar.gz"`);
        const entries = tarEntries(gunzipSync(answer.bytes));
        expect(entries['notes/text.md']).toBe(TEXT);
        for (const name of ['link', 'dir-link', 'dangling', 'pipe', 'dir-link/passwd']) {
          expect(Object.keys(entries)).not.toContain(name);
        }
      });

      it('have their headers for HEAD, and no body', async () => {
        const answer = await fetchBytes(target(), 'HEAD', url('/archive', { format: 'zip' }));
        expect(answer.status).toBe(200);
        expect(answer.headers.get('content-type')).toBe('application/zip');
      });
    });

    describe('what is refused', () => {
      const routes = ['', '/content', '/archive'];
      const bad: [string, string][] = [
        ['a parent', '../x'],
        ['parents further down', 'tree/../../x'],
        ['an absolute path', '/etc/passwd'],
        ['a link', 'link'],
        ['a dangling link', 'dangling'],
        ['a link to a directory', 'dir-link'],
        ['a path through a link', 'dir-link/passwd'],
        ['a FIFO', 'pipe'],
        ['a NUL', 'a\0b'],
        ['a very long name', 'x'.repeat(300)],
        ['a very long path', 'x/'.repeat(2500)],
      ];
      it.each(bad)('%s', async (_, path) => {
        for (const route of routes) {
          const answer = await api().get(url(route, { path }));
          expectError(answer, { status: 400, code: 'invalid_path', param: 'path' });
        }
      });

      it('missing paths', async () => {
        for (const route of routes) {
          for (const path of ['missing', 'tree/missing', 'missing/deeper']) {
            const answer = await api().get(url(route, { path }));
            expectError(answer, { status: 404, code: 'artifact_not_found', param: 'path' });
          }
        }
      });

      it('the content of a directory, and of an empty path', async () => {
        for (const query of ['', '?path=', '?path=tree', '?path=.']) {
          const answer = await api().get(`/v1/runs/${runId}/artifacts/content${query}`);
          expectError(answer, { status: 400, code: 'invalid_path', param: 'path' });
        }
      });

      it('invalid values', async () => {
        for (const [query, param] of [
          ['?recursive=maybe', 'recursive'],
          ['?recursive=true&recursive=true', 'recursive'],
          ['?path=a&path=b', 'path'],
          ['/archive?format=rar', 'format'],
          ['/archive?format=tar&format=zip', 'format'],
        ] as const) {
          const answer = await api().get(`/v1/runs/${runId}/artifacts${query}`);
          expectError(answer, { status: 400, code: 'invalid_request', param });
        }
      });

      it('bytes in a path that are not UTF-8 find nothing', async () => {
        const { key, baseUrl } = target();
        const auth: [string, string][] = key === undefined ? [] : [['Authorization', `Bearer ${key}`]];
        for (const path of ['%FF', '%ED%A0%80', '%', '%zz']) {
          const answer = await exchange(
            baseUrl,
            head(baseUrl, 'GET', `/v1/runs/${runId}/artifacts/content?path=${path}`, auth),
          );
          expect([400, 404]).toContain(answer?.status);
        }
      });

      it('a run that does not exist, before anything else', async () => {
        for (const route of ['', '/content', '/archive', '?recursive=maybe', '/archive?format=rar']) {
          const answer = await api().get(`/v1/runs/${MISSING_RUN}/artifacts${route}`);
          expectError(answer, { status: 404, code: 'run_not_found' });
        }
      });

      it("another key's run", async () => {
        const { baseUrl, otherKey } = target();
        if (otherKey === undefined) return;
        const other = new CheckedApi(baseUrl, otherKey);
        for (const route of ['', '/content?path=bytes.bin', '/archive', '/content?path=../x']) {
          const answer = await other.get(`/v1/runs/${runId}/artifacts${route}`);
          expectError(answer, { status: 404, code: 'run_not_found', message: `Run not found: ${runId}` });
        }
      });
    });
  });
}

async function fetchBytes(
  { baseUrl, key }: { baseUrl: string; key?: string | undefined },
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const auth: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(baseUrl + path, {
    method,
    headers: { 'accept-encoding': 'identity', ...auth, ...headers },
    // The suite's requests have their own conditions, which a cache must not change.
    cache: 'no-store',
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

/** Names and texts of a tar whose names are short. */
function tarEntries(tar: Buffer): Record<string, string> {
  const entries: Record<string, string> = {};
  for (let at = 0; tar[at] !== 0; ) {
    const text = (from: number, length: number) =>
      tar
        .subarray(at + from, at + from + length)
        .toString()
        .replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 12), 8);
    entries[text(0, 100)] = tar.subarray(at + 512, at + 512 + size).toString();
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return entries;
}
