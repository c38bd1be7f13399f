import { Readable } from 'node:stream';
import { SandboxError, type WorkspaceWriter } from '@talaria/sandbox';
import { expect, test } from 'vitest';
import { openTempJournal } from '../../journal/sqlite/testing/temp-journal.ts';
import { completed, finishedRun } from '../../journal/testing/records.ts';
import { createJournalServer } from '../testing/journal-server.ts';

const ADA = { name: 'ada', key: 'sk-ada-0123456789' };

test.each(['PUT', 'DELETE'] as const)('%s is refused for now while the files are lost', async (method) => {
  const fixture = await openTempJournal();
  const runId = await finishedRun(fixture.journal, {}, completed());
  const lost = async () => {
    throw new SandboxError('workspace_reverted', 'They were lost.');
  };
  const writer: WorkspaceWriter = { write: lost, remove: lost, merge: lost };
  const http = createJournalServer(fixture.journal, { apiKeys: [ADA], openWriter: async () => writer });
  const answer = await http.inject({
    method,
    url: `/v1/runs/${runId}/artifacts/content?path=note`,
    headers: { authorization: `Bearer ${ADA.key}`, 'content-type': 'application/octet-stream' },
    ...(method === 'PUT' ? { payload: Readable.from(['note']) } : {}),
  });
  expect(answer.statusCode).toBe(503);
  expect(answer.json().error).toMatchObject({ code: 'workspace_not_ready', message: 'They were lost.' });
  await http.close();
  await fixture.dispose();
});
