/** What the client asks for when it reads the files of a run as they were after an event, and what changed between two. */
import { expect, it } from 'vitest';
import { json, serve } from './testing/test-server.ts';

const RUN = 'run_00000000000000000000000000000000';

it('names the event in every request of a reader', async () => {
  const { client, asked } = await serve((response) => json(response, 200, { data: [] }));
  const { artifacts } = client.runs;
  await artifacts.list(RUN, { path: 'src', recursive: true, at: 7 });
  await (await artifacts.read(RUN, 'a b.txt', { at: 0, start: 1 })).body?.cancel();
  await (await artifacts.archive(RUN, { format: 'tar', at: -1 })).body?.cancel();
  await artifacts.list(RUN);
  expect(asked.map(({ url }) => url.replace(`/v1/runs/${RUN}/artifacts`, ''))).toEqual([
    '?path=src&recursive=true&at=7',
    '/content?path=a+b.txt&at=0',
    '/archive?format=tar&at=-1',
    '',
  ]);
});

it('gets what changed as a list and as a patch', async () => {
  const file = { path: 'a b', status: 'modified', additions: 2, deletions: null, binary: false };
  const { client, asked } = await serve((response, { url }) => {
    if (url.includes('format=patch')) response.writeHead(200).end('diff --git\n');
    else json(response, 200, { object: 'list', data: [file] });
  });
  expect((await client.runs.diff(RUN, { from: -1, to: 9, path: 'a b' })).data).toEqual([file]);
  await client.runs.diff(RUN);
  expect(await (await client.runs.patch(RUN, { path: 'src' })).text()).toBe('diff --git\n');
  expect(asked.map(({ url }) => url.replace(`/v1/runs/${RUN}/diff`, ''))).toEqual([
    '?from=-1&to=9&path=a+b',
    '',
    '?path=src&format=patch',
  ]);
});
