/** `?at=` on the routes of artifacts: over HTTP, with checkpoints in blobs and no workspace on this server. */
import { createHash } from 'node:crypto';
import { createRunId } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeptCheckpoints, StoredTrees } from '../../checkpoints/testing/stored-trees.ts';
import type { JournalFixture } from '../../journal/journal.contract.ts';
import { openTempJournal } from '../../journal/sqlite/testing/temp-journal.ts';
import { completed, delta, finishedRun } from '../../journal/testing/records.ts';
import { createJournalServer } from '../testing/journal-server.ts';

const ADA = { name: 'ada', key: 'sk-ada-0123456789' };
const EVE = { name: 'eve', key: 'sk-eve-0123456789' };

let fixture: JournalFixture;
let trees: StoredTrees;
let http: ReturnType<typeof createJournalServer>;
let runId: string;

beforeAll(async () => {
  fixture = await openTempJournal();
  trees = new StoredTrees();
  // Its events have the numbers 0 to 3.
  runId = await finishedRun(fixture.journal, {}, delta(), delta(), delta(), completed());
  const checkpoints = new KeptCheckpoints();
  checkpoints.keep(runId, [
    { seq: -1, files: await trees.write([{ path: 'given', content: 'before' }], { asOfSeq: -1 }) },
    {
      seq: 0,
      files: await trees.write(
        [
          { path: 'given', content: 'one' },
          { path: 'dir/deep', content: 'deep' },
        ],
        { asOfSeq: 0, omitted: [{ path: 'huge', reason: 'too_large' }], omittedCount: 3 },
      ),
    },
    { seq: 1, files: undefined },
    { seq: 3, files: await trees.write([{ path: 'given', content: 'three' }], { asOfSeq: 3 }) },
  ]);
  http = createJournalServer(fixture.journal, { apiKeys: [ADA, EVE], checkpoints });
});
afterAll(async () => {
  await http.close();
  await fixture.dispose();
  trees[Symbol.dispose]();
});

type Method = 'GET' | 'HEAD' | 'PUT' | 'DELETE';

function ask(path: string, { id = runId, method = 'GET' as Method, key = ADA.key, headers = {} } = {}) {
  const url = `/v1/runs/${id}/artifacts${path}`;
  return http.inject({ method, url, headers: { authorization: `Bearer ${key}`, ...headers } });
}

const ROUTES = ['?', '/content?path=given&', '/archive?'];

describe('files as they were', () => {
  test.each([
    [-1, -1, 'before'],
    [0, 0, 'one'],
    [3, 3, 'three'],
  ])('after event %i are those of the checkpoint as of %i', async (at, asOf, content) => {
    const answer = await ask(`/content?path=given&at=${at}`);
    expect([answer.statusCode, answer.body]).toEqual([200, content]);
    expect(answer.headers).toMatchObject({
      'x-talaria-as-of-seq': String(asOf),
      etag: `"${createHash('sha256').update(content).digest('hex')}"`,
    });
    const listed = await ask(`?at=${at}&path=given`);
    expect(listed.json()).toMatchObject({
      object: 'list',
      run_id: runId,
      as_of_seq: asOf,
      data: [{ path: 'given', size: content.length }],
    });
  });

  test('a listing says what was not kept, and only then', async () => {
    expect((await ask('?at=0&recursive=true')).json()).toMatchObject({
      data: [{ path: 'dir' }, { path: 'given' }, { path: 'dir/deep' }],
      truncated: false,
      omitted: [{ path: 'huge', reason: 'too_large' }],
      omitted_count: 3,
    });
    expect(Object.keys((await ask('?at=3')).json())).not.toContain('omitted');
    expect((await ask('/content?path=huge&at=0')).json().error).toMatchObject({
      code: 'artifact_not_found',
      message: 'huge was not kept in this checkpoint: it was too large.',
      param: 'path',
    });
  });

  test('a part, a version that the client has, and only the head', async () => {
    const part = await ask('/content?path=dir/deep&at=0', { headers: { range: 'bytes=1-2' } });
    expect([part.statusCode, part.body, part.headers['content-range']]).toEqual([206, 'ee', 'bytes 1-2/4']);
    const known = await ask('/content?path=dir/deep&at=0', { headers: { 'if-none-match': '*' } });
    expect([known.statusCode, known.body]).toEqual([304, '']);
    for (const route of ROUTES) {
      const head = await ask(`${route}at=0`, { method: 'HEAD' });
      expect([head.statusCode, head.body, head.headers['x-talaria-as-of-seq']]).toEqual([200, '', '0']);
    }
  });

  test('an archive of a directory', async () => {
    const { rawPayload, headers } = await ask('/archive?at=0&path=dir&format=tar');
    expect(headers['x-talaria-as-of-seq']).toBe('0');
    expect(rawPayload.subarray(0, 4).toString()).toBe('deep');
    expect(rawPayload.subarray(512, 516).toString()).toBe('deep');
  });

  test('an empty value asks for the files as they are now', async () => {
    expect((await ask('?at=')).json()).toEqual({ object: 'list', run_id: runId, data: [], truncated: false });
  });
});

describe('what is refused', () => {
  test.each([
    ['at=4', 'invalid_cursor', "'at' is 4, and the last event of the run is 3"],
    ['at=999999999999999', 'invalid_cursor', /last event/],
    ['at=x', 'invalid_cursor', /must be the number of an event/],
    ['at=-2', 'invalid_cursor', /must be the number of an event/],
    ['at=1.5', 'invalid_cursor', /must be the number of an event/],
    ['at=1&at=2', 'invalid_request', "'at' must be given only once"],
  ])('%s on every route', async (query, code, message) => {
    for (const route of ROUTES) {
      const answer = await ask(route + query);
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error).toMatchObject({ code, param: 'at' });
      expect(answer.json().error.message).toMatch(message);
    }
  });

  test.each([1, 2])('files that were not kept at event %i', async (at) => {
    for (const route of ROUTES) {
      const answer = await ask(`${route}at=${at}`);
      expect([answer.statusCode, answer.json().error.code]).toEqual([409, 'checkpoint_gone']);
    }
  });

  test('changing the files of an earlier time', async () => {
    for (const method of ['PUT', 'DELETE'] as const) {
      const writing = createJournalServer(fixture.journal, {
        apiKeys: [ADA],
        openWriter: async () => ({}) as never,
      });
      const answer = await writing.inject({
        method,
        url: `/v1/runs/${runId}/artifacts/content?path=given&at=0`,
        headers: { authorization: `Bearer ${ADA.key}` },
      });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error).toMatchObject({ code: 'invalid_request', param: 'at' });
      await writing.close();
    }
  });

  test("another key's run, like one that does not exist, before anything else", async () => {
    for (const route of ROUTES) {
      for (const at of ['0', '1', '4', 'x']) {
        const theirs = await ask(`${route}at=${at}`, { key: EVE.key });
        const id = createRunId();
        const none = await ask(`${route}at=${at}`, { id, key: EVE.key });
        expect([theirs.statusCode, theirs.json().error.code]).toEqual([404, 'run_not_found']);
        expect(theirs.body.replace(runId, '')).toBe(none.body.replace(id, ''));
      }
    }
  });

  test('everything on a server that keeps no checkpoints, which says so', async () => {
    const without = createJournalServer(fixture.journal, { apiKeys: [ADA] });
    const headers = { authorization: `Bearer ${ADA.key}` };
    const answer = await without.inject({ url: `/v1/runs/${runId}/artifacts?at=0`, headers });
    expect(answer.statusCode).toBe(409);
    expect(answer.json().error).toMatchObject({
      code: 'checkpoint_gone',
      message: 'This server keeps no checkpoints of files',
    });
    const features = async (server: typeof http) =>
      (await server.inject({ url: '/v1/capabilities', headers })).json().features;
    expect(await features(without)).toMatchObject({ run_artifacts_at: false });
    expect(await features(http)).toMatchObject({ run_artifacts_at: true });
    await without.close();
  });
});
