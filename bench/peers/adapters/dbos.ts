import { postStream } from '../../client/streams.ts';
import { packageMissing, pinned } from '../installed.ts';
import { type Peer, say } from '../peer.ts';

export const dbos: Peer = {
  name: 'DBOS',
  packages: `${pinned('@dbos-inc/dbos-sdk')} on Postgres 18`,
  work: 'one POST starts a workflow and waits for its result; the same steps as with Restate; no events',
  durable: 'the input of the workflow and the result of every step, in Postgres, synced',
  lost: 'what a step did that had not ended: the step runs again',
  missing: () => packageMissing('@dbos-inc/dbos-sdk'),
  async start(stage, model) {
    const postgres = await stage.postgres();
    const server = await stage.process('peers/servers/dbos.ts', [model.url, await postgres.createDatabase()]);
    const run = async (prompt: string, tool: boolean) =>
      void (await postStream(`http://127.0.0.1:${server.port}/`, { prompt, tool }, 'word'));
    return {
      pids: [server.pid, postgres.pid],
      text: (chunks) => run(say(chunks), false),
      tool: () => run(say(1), true),
    };
  },
};
