/** What the client asks for when it reads the files of a run as they were after an event. */
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
