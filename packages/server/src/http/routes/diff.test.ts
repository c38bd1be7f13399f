/** `GET /v1/runs/{id}/diff` over HTTP, with checkpoints in blobs and no workspace on this server. */
import type { AddressInfo } from 'node:net';
import { createRunId, type RunDiff } from '@talaria/protocol';
import { RunDiffSchema } from '@talaria/protocol/schemas';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeptCheckpoints, StoredTrees, type WrittenEntry } from '../../checkpoints/testing/stored-trees.ts';
import type { JournalFixture } from '../../journal/journal.contract.ts';
import { openTempJournal } from '../../journal/sqlite/testing/temp-journal.ts';
import { completed, delta, finishedRun } from '../../journal/testing/records.ts';
import { createJournalServer } from '../testing/journal-server.ts';

const ADA = { name: 'ada', key: 'sk-ada-0123456789' };
const EVE = { name: 'eve', key: 'sk-eve-0123456789' };
const schema = Compile(RunDiffSchema);

let fixture: JournalFixture;
let trees: StoredTrees;
let http: ReturnType<typeof createJournalServer>;
const checkpoints = new KeptCheckpoints();
let runId: string;

beforeAll(async () => {
  fixture = await openTempJournal();
  trees = new StoredTrees();
  const omitted = { omitted: [{ path: 'node_modules', reason: 'ignored' as const }] };
  runId = await runWith([
    [-1, [{ path: 'src/a', content: 'one\n' }]],
    [
      0,
      [
        { path: 'src/a', content: 'two\n' },
        { path: 'b', content: 'b\n' },
      ],
      omitted,
    ],
    [1, undefined],
    [3, [{ path: 'src/a', content: 'three\n' }], omitted],
  ]);
  http = createJournalServer(fixture.journal, { apiKeys: [ADA, EVE], checkpoints });
  await http.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await http.close();
  await fixture.dispose();
  trees[Symbol.dispose]();
});

/** A run with the events 0 to 3. */
async function runWith(
  kept: readonly [seq: number, entries: WrittenEntry[] | undefined, options?: object][],
): Promise<string> {
  const id = await finishedRun(fixture.journal, {}, delta(), delta(), delta(), completed());
  const files = kept.map(async ([seq, entries, options]) => ({
    seq,
    files: entries && (await trees.write(entries, { asOfSeq: seq, ...options })),
  }));
  checkpoints.keep(id, await Promise.all(files));
  return id;
}

function ask(query = '', { id = runId, key = ADA.key, method = 'GET' as 'GET' | 'HEAD' } = {}) {
  return http.inject({
    method,
    url: `/v1/runs/${id}/diff${query}`,
    headers: { authorization: `Bearer ${key}` },
  });
}

async function diff(query = ''): Promise<RunDiff> {
  const answer = await ask(query);
  expect(answer.statusCode, answer.body).toBe(200);
  expect(schema.Errors(answer.json())).toEqual([]);
  return answer.json();
}

const shown = ({ from_seq, to_seq, data }: RunDiff) => [
  from_seq,
  to_seq,
  ...data.map(({ path, status, additions, deletions }) => `${status} ${path} +${additions} -${deletions}`),
];

describe('a list', () => {
  test('goes from the start of the run to the last checkpoint', async () => {
    const found = await diff();
    expect(found).toMatchObject({ object: 'list', run_id: runId, truncated: false, to_omitted_count: 1 });
    expect(found).not.toHaveProperty('from_omitted_count');
    expect(shown(found)).toEqual([-1, 3, 'modified src/a +1 -1']);
  });

  test.each([
    ['?to=0', [-1, 0, 'added b +1 -0', 'modified src/a +1 -1']],
    ['?from=0', [0, 3, 'deleted b +0 -1', 'modified src/a +1 -1']],
    ['?from=0&to=-1', [0, -1, 'deleted b +0 -1', 'modified src/a +1 -1']],
    ['?from=-1&to=0&path=b', [-1, 0, 'added b +1 -0']],
    ['?to=0&path=src', [-1, 0, 'modified src/a +1 -1']],
    ['?to=0&path=/workspace/src/./a', [-1, 0, 'modified src/a +1 -1']],
    ['?from=3&to=3', [3, 3]],
  ])('%s', async (query, expected) => {
    expect(shown(await diff(query))).toEqual(expected);
  });
});

describe('a patch', () => {
  const PATCH = [
    'diff --git a/src/a b/src/a',
    'index 5626abf0f72e58d7a153368ba57db4c673c0e171..2bdf67abb163a4ffb2d7f3f0880c9fe5068ce782 100644',
    '--- a/src/a',
    '+++ b/src/a',
    '@@ -1 +1 @@',
    '-one',
    '+three',
    '',
  ].join('\n');

  test('is a download that says what it compares', async () => {
    const answer = await ask('?format=patch');
    expect([answer.statusCode, answer.body]).toEqual([200, PATCH]);
    const headers = {
      'content-type': 'text/x-diff; charset=utf-8',
      'content-disposition': `attachment; filename="${runId}.patch"`,
      'x-talaria-from-seq': '-1',
      'x-talaria-to-seq': '3',
    };
    expect(answer.headers).toMatchObject(headers);
    const head = await ask('?format=patch', { method: 'HEAD' });
    expect([head.statusCode, head.body]).toEqual([200, '']);
    expect(head.headers).toMatchObject(headers);
  });

  test('of nothing is empty', async () => {
    expect(await ask('?format=patch&from=3&to=3')).toMatchObject({ statusCode: 200, body: '' });
  });
});

describe('what is refused', () => {
  test.each([
    ['from=4', 400, 'invalid_cursor', 'from'],
    ['to=4', 400, 'invalid_cursor', 'to'],
    ['from=x', 400, 'invalid_cursor', 'from'],
    ['to=-2', 400, 'invalid_cursor', 'to'],
    ['to=1&to=2', 400, 'invalid_request', 'to'],
    ['format=html', 400, 'invalid_request', 'format'],
    ['path=../x', 400, 'invalid_path', 'path'],
    ['path=/etc', 400, 'invalid_path', 'path'],
    ['path=nowhere', 404, 'artifact_not_found', 'path'],
    ['from=1', 409, 'checkpoint_gone', null],
    ['to=2', 409, 'checkpoint_gone', null],
  ])('%s, as a list and as a patch', async (query, status, code, param) => {
    for (const more of ['', '&format=patch'].slice(0, query.startsWith('format') ? 1 : 2)) {
      const answer = await ask(`?${query}${more}`);
      expect(answer.statusCode).toBe(status);
      expect(answer.json().error).toMatchObject({ code, param });
    }
  });

  test('a path that was not kept, with the reason', async () => {
    expect((await ask('?path=node_modules/x')).json().error.message).toMatch(
      /was not kept in this checkpoint: a rule/,
    );
  });

  test("another key's run, like one that does not exist, before anything else", async () => {
    for (const query of ['', '?format=patch', '?from=4', '?from=x', '?path=../x', '?format=html', '?to=1']) {
      const theirs = await ask(query, { key: EVE.key });
      const id = createRunId();
      const none = await ask(query, { id, key: EVE.key });
      expect([theirs.statusCode, theirs.json().error.code]).toEqual([404, 'run_not_found']);
      expect(theirs.body.replace(runId, '')).toBe(none.body.replace(id, ''));
    }
  });

  test('everything on a server that keeps no checkpoints', async () => {
    const without = createJournalServer(fixture.journal, { apiKeys: [ADA] });
    const headers = { authorization: `Bearer ${ADA.key}` };
    const answer = await without.inject({ url: `/v1/runs/${runId}/diff`, headers });
    expect([answer.statusCode, answer.json().error.code]).toEqual([409, 'checkpoint_gone']);
    const { features } = (await without.inject({ url: '/v1/capabilities', headers })).json();
    expect(features.run_diff).toBe(false);
    await without.close();
  });
});

test('while files of 30 000 lines are compared that differ at random, other requests are answered', async () => {
  let seed = 1;
  const coin = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return seed < 0x4000_0000 ? 'heads\n' : 'tails\n';
  };
  const tossed = () => Array.from({ length: 30_000 }, coin).join('');
  const hostile = await runWith([
    [-1, [{ path: 'a', content: tossed() }]],
    [0, [{ path: 'a', content: tossed() }]],
  ]);
  const { port } = http.server.address() as AddressInfo;
  const get = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${ADA.key}` } });
  let compared: RunDiff | undefined;
  const comparing = get(`/v1/runs/${hostile}/diff`).then(async (answer) => {
    compared = (await answer.json()) as RunDiff;
  });
  let answered = 0;
  while (compared === undefined) {
    expect((await get('/health')).status).toBe(200);
    answered++;
  }
  await comparing;
  // One of them may be answered before the comparison begins, and one after it; the others during it.
  expect(answered).toBeGreaterThan(5);
  const [file] = compared!.data;
  expect(file).toMatchObject({ path: 'a', status: 'modified', binary: false });
  expect(file!.additions! - file!.deletions!).toBe(0);
});
