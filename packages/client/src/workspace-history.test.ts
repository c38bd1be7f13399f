/** What the client asks for when it reads the files of a run at an earlier event, and what changed between two. */
import { expect, it } from 'vitest';
import { json, serve } from './testing/test-server.ts';

const RUN = 'run_00000000000000000000000000000000';
const CHANGE = { path: 'a b.txt', status: 'modified', additions: 2, deletions: 1, binary: false };

it('the files are read as they were after an event', async () => {
  const { client, asked } = await serve((response) => json(response, 200, { data: [] }));
  const { artifacts } = client.runs;
  await artifacts.list(RUN, { path: 'src', recursive: true, at: 7 });
  await (await artifacts.read(RUN, 'a b.txt', { at: 0 })).body?.cancel();
  await (await artifacts.archive(RUN, { format: 'tar', at: 7 })).body?.cancel();
  await artifacts.list(RUN);
  expect(asked.map(({ url }) => url.replace(`/v1/runs/${RUN}/artifacts`, ''))).toEqual([
    '?path=src&recursive=true&at=7',
    '/content?path=a+b.txt&at=0',
    '/archive?format=tar&at=7',
    '',
  ]);
});

it('what changed comes as a list or as a patch', async () => {
  const { client, asked } = await serve((response, { url }) => {
    if (url.includes('format=patch')) response.writeHead(200).end('--- a\n+++ b\n');
    else json(response, 200, { object: 'list', data: [CHANGE] });
  });
  const { data } = await client.runs.diff(RUN, { from: 3, to: 9, path: 'a b.txt' });
  expect(data).toEqual([CHANGE]);
  expect(await (await client.runs.diffPatch(RUN, { path: 'src' })).text()).toBe('--- a\n+++ b\n');
  await client.runs.diff(RUN);
  expect(asked.map(({ url }) => url.replace(`/v1/runs/${RUN}/diff`, ''))).toEqual([
    '?from=3&to=9&path=a+b.txt',
    '?path=src&format=patch',
    '',
  ]);
});
