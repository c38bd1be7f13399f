import { createAndStream, createRun, getStream } from '../../client/streams.ts';
import { CALL, type Peer, say } from '../peer.ts';

export const talaria: Peer = {
  name: 'Talaria',
  packages: 'this repository',
  work: 'POST creates the run, GET streams its events; the agent works apart from both requests; a command runs in a sandbox with limits',
  durable: 'every event, in SQLite, synced before a client sees it; the run before its 202',
  lost: 'nothing: the run continues; a command whose outcome is unknown is not repeated',
  missing: () => undefined,
  async start(stage, model) {
    const { url, pid } = await stage.server({
      modelUrl: model.url,
      env: { TALARIA_MAX_CONCURRENT_RUNS: '64' },
    });
    const run = async (input: string) => void (await createAndStream(url, input, 'run.completed'));
    return {
      pids: [pid],
      text: (chunks) => run(say(chunks)),
      tool: () => run(CALL),
      async replay(chunks) {
        const events = `${url}/v1/runs/${await createRun(url, say(chunks))}/events`;
        const read = async () => void (await getStream(events, 'run.completed'));
        await read();
        return read;
      },
    };
  },
};
