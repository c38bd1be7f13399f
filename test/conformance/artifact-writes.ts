/** The files of a run's workspace: written and removed by clients (PROTOCOL.md). */
import { createHash } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { ArtifactList, WrittenArtifact } from '@talaria/protocol';
import { beforeAll, describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { type CheckedApi, expectError } from './checked-api.ts';
import { exchange, head } from './raw-http.ts';
import {
  apiOf,
  commands,
  type GetTarget,
  HeldRun,
  MISSING_RUN,
  say,
  terminal,
  uniqueName,
} from './target.ts';

type Sent = { body?: string | Uint8Array; headers?: Record<string, string> };

export function describeArtifactWrites(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('writing artifacts', () => {
    let runId: string;
    const url = (path: string, id = runId) =>
      `/v1/runs/${id}/artifacts/content?path=${encodeURIComponent(path)}`;
    const put = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
      send(api(), 'PUT', url(path), { body, headers });
    const remove = (path: string, headers: Record<string, string> = {}, more = '') =>
      send(api(), 'DELETE', url(path) + more, { headers });
    const read = (path: string, id = runId) => api().get<string>(url(path, id));

    beforeAll(async () => {
      runId = await api().create(
        commands('mkdir dir; echo one > file; ln -s /etc/passwd link; ln -s /etc out'),
      );
      expect(await api().finish(runId)).toMatchObject({ event: 'run.completed' });
    });

    it('puts a file in place, and says what it is by its digest', async () => {
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 256));
      const { status, body, headers } = await put('new/deep/ü.bin', bytes);
      const sha256 = digest(bytes);
      expect([status, headers.get('etag')]).toEqual([201, `"${sha256}"`]);
      expect(body).toMatchObject({ run_id: runId, path: 'new/deep/ü.bin', size: bytes.length, sha256 });
      const listed = await api().get<ArtifactList>(`/v1/runs/${runId}/artifacts?path=new/deep`);
      expect(listed.body.data).toMatchObject([{ path: 'new/deep/ü.bin', type: 'file', size: bytes.length }]);
      expect((await put('new/deep/ü.bin', '')).status).toBe(200);
      expect((await read('new/deep/ü.bin')).body).toBe('');
    });

    it.each([
      ['gzip', gzipSync('decoded')],
      ['br', brotliCompressSync('decoded')],
    ])('decodes a body with the encoding %s', async (encoding, bytes) => {
      expect((await put('encoded', bytes, { 'content-encoding': encoding })).status).toBeLessThan(300);
      expect((await read('encoded')).body).toBe('decoded');
    });

    it('refuses a body in another encoding, or in a wrong one', async () => {
      await put('encoded', 'before');
      const unknown = await put('encoded', 'x', { 'content-encoding': 'zip' });
      expectError(unknown, { status: 415, code: 'unsupported_encoding' });
      const wrong = await put('encoded', 'not gzip', { 'content-encoding': 'gzip' });
      expectError(wrong, { status: 400, code: 'invalid_encoding' });
      expect((await read('encoded')).body).toBe('before');
    });

    it('refuses a part of a file, as a resumed upload sends it', async () => {
      await put('resumed', 'the whole');
      const refused = await put('resumed', 'whole', { 'content-range': 'bytes 4-8/9' });
      expectError(refused, { status: 400, code: 'invalid_request' });
      expect((await read('resumed')).body).toBe('the whole');
    });

    it('holds its conditions, or changes nothing', async () => {
      const tag = (await put('guarded', 'one', { 'if-none-match': '*' })).headers.get('etag')!;
      const failed = { status: 412, code: 'precondition_failed' };
      expectError(await put('guarded', 'two', { 'if-none-match': '*' }), failed);
      expectError(await put('guarded', 'two', { 'if-match': '"0"' }), failed);
      expectError(await put('guarded', 'two', { 'if-match': `W/${tag}` }), failed);
      expectError(await put('absent', 'two', { 'if-match': '*' }), failed);
      expectError(await put('link', 'two', { 'if-none-match': '*' }), failed);
      expectError(await remove('guarded', { 'if-match': '"0"' }), failed);
      expect((await read('guarded')).body).toBe('one');
      expect((await put('guarded', 'two', { 'if-match': `"0", ${tag}` })).status).toBe(200);
      expectError(await remove('guarded', { 'if-match': tag }), failed);
      expect((await remove('guarded', { 'if-match': `"${digest('two')}"` })).status).toBe(200);
      expect((await read('guarded')).status).toBe(404);
    });

    it('removes links themselves, and directories when asked to', async () => {
      await put('tree/a/b', 'x');
      expectError(await remove('tree'), { status: 400, code: 'invalid_path' });
      expectError(await remove('tree', {}, '&recursive=maybe'), {
        status: 400,
        code: 'invalid_request',
        param: 'recursive',
      });
      const { status, body } = await remove('tree', {}, '&recursive=true');
      expect([status, body]).toEqual([
        200,
        { object: 'hermes.run.artifact.deleted', run_id: runId, path: 'tree', deleted: true },
      ]);
      expectError(await remove('tree'), { status: 404, code: 'artifact_not_found' });
    });

    it.each(['../x', '/etc/x', 'link', 'out/x', 'dir', '.', 'a\0b', 'file/below'])(
      'refuses the path %j',
      async (path) => {
        expectError(await put(path, 'x'), { status: 400, code: 'invalid_path', param: 'path' });
      },
    );

    it('needs a path, and a run of its own', async () => {
      const bare = `/v1/runs/${runId}/artifacts/content`;
      for (const method of ['PUT', 'DELETE']) {
        expectError(await send(api(), method, bare, {}), {
          status: 400,
          code: 'invalid_path',
          param: 'path',
        });
        const missing = await send(api(), method, url('x', MISSING_RUN), {});
        expectError(missing, { status: 404, code: 'run_not_found' });
      }
    });

    it('reaches a run that works, before it has used any tool', async () => {
      const step = { tools: [terminal('cat given')] };
      await using held = await HeldRun.start(target(), [step, { text: 'done' }]);
      const { status } = await send(api(), 'PUT', url('given', held.runId), { body: 'from outside' });
      expect(status).toBe(201);
      held.release();
      const { frames } = await api().stream(held.runId);
      const outputs = frames.flatMap(({ event }) =>
        event?.event === 'tool.completed' ? [event.preview] : [],
      );
      expect(outputs).toEqual(['from outside']);
    });

    it('does not reach a run that ended without a workspace', async () => {
      const silent = await api().create(say('nothing'));
      await api().finish(silent);
      const answer = await send(api(), 'PUT', url('x', silent), { body: 'x' });
      expectError(answer, { status: 404, code: 'artifact_not_found' });
    });

    it('shows nothing of a body that was cut off', async () => {
      const path = uniqueName('cut');
      const abort = new AbortController();
      const body = new ReadableStream({
        start: (stream) => stream.enqueue(Buffer.from('only a part')),
        pull: () => abort.abort(),
      });
      const init = { method: 'PUT', body, duplex: 'half', signal: abort.signal } as RequestInit;
      const { baseUrl, key } = target();
      const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      await expect(fetch(baseUrl + url(path), { ...init, headers })).rejects.toThrow();
      expect((await read(path)).status).toBe(404);
    });

    it('answers at once to a body that it will not take', async () => {
      const { baseUrl, key } = target();
      const began = head(baseUrl, 'PUT', url('x', MISSING_RUN), [
        ...(key === undefined ? [] : [['Authorization', `Bearer ${key}`] as [string, string]]),
        ['Content-Length', '1000000'],
      ]);
      expect((await exchange(baseUrl, began, 'x'.repeat(1000)))?.status).toBe(404);
    });

    it('is seen by the next step of a run', async () => {
      const gate = uniqueName('gate');
      const steps = [
        { tools: [terminal('echo first > shared')] },
        { tools: [terminal('cat shared')], gate },
        { text: 'ok' },
      ];
      const id = await api().create(script(steps));
      await target().model.waitingAt(gate);
      expect((await send(api(), 'PUT', url('shared', id), { body: 'second' })).status).toBe(200);
      target().model.open(gate);
      const { frames } = await api().stream(id);
      const outputs = frames.flatMap(({ event }) =>
        event?.event === 'tool.completed' ? [event.preview] : [],
      );
      expect(outputs.at(-1)).toBe('second');
    });
  });
}

function send(api: CheckedApi, method: string, path: string, { body, headers = {} }: Sent) {
  return api.request<WrittenArtifact>(method, path, {
    headers,
    ...(body === undefined ? {} : { raw: body as string | Uint8Array<ArrayBuffer> }),
  });
}

function digest(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
