import { createRunId } from '@talaria/protocol';
import { expect, it } from 'vitest';
import { json, serve } from '../../../../client/src/testing/test-server.ts';
import { createStyle } from '../style.ts';
import { changeLines } from './show-changes.ts';

const [FORK, SOURCE, OLDEST] = [createRunId(), createRunId(), createRunId()];

/** The last line, of a fork whose ancestors are these. */
async function takenLine(ancestors: Record<string, object>): Promise<string> {
  const { client } = await serve((response, { url }) => {
    const [, id = '', route] = /^\/v1\/runs\/([^/?]+)(\/diff)?/.exec(url)!;
    if (route !== undefined) {
      const data = [{ path: 'a', status: 'added', added: 1, removed: 0 }];
      json(response, 200, { object: 'list', run_id: id, from_seq: 0, to_seq: 1, data, truncated: false });
      return;
    }
    const run = id === FORK ? { forked_from: { run_id: SOURCE, seq: 7 } } : ancestors[id];
    if (run === undefined) json(response, 404, { error: { code: 'run_not_found', message: 'gone' } });
    else json(response, 200, { run_id: id, status: 'completed', ...run });
  });
  const lines = await changeLines(FORK, {
    client,
    directory: '.',
    server: undefined,
    style: createStyle(false),
  });
  return lines.at(-1)!;
}

it('names the commands for a fork and the runs it comes from, as far as these still exist', async () => {
  const fork = `talaria apply ${FORK}`;
  const source = `talaria apply ${SOURCE} --to 7`;
  expect(await takenLine({})).toBe(`Take it: ${fork}`);
  expect(await takenLine({ [SOURCE]: {} })).toBe(`Take it: ${source} && ${fork}`);
  const older = { [SOURCE]: { forked_from: { run_id: OLDEST, seq: 3 } } };
  expect(await takenLine(older)).toBe(`Take it: ${source} && ${fork}`);
  expect(await takenLine({ ...older, [OLDEST]: {} })).toBe(
    `Take it: talaria apply ${OLDEST} --to 3 && ${source} && ${fork}`,
  );
});

it('a line of forks that a server makes endless is cut off after ten runs', async () => {
  const line = await takenLine({ [SOURCE]: { forked_from: { run_id: SOURCE, seq: 1 } } });
  expect(line.split(' && ')).toHaveLength(10);
});
