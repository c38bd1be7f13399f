import { environment, pinnedVersion } from '../../../test/compat/python/environments.ts';
import { ReferenceServer } from '../../../test/conformance/command/reference-server.ts';
import { createAndStream } from '../../client/streams.ts';
import { environmentMissing } from '../installed.ts';
import { CALL, type Peer, say } from '../peer.ts';

const installation = environment('hermes-agent');

export const hermes: Peer = {
  name: 'hermes-agent',
  packages: `hermes-agent ${pinnedVersion(installation, 'hermes-agent')} (PyPI)`,
  work: 'the same two requests as Talaria, whose API this is; a command runs without a sandbox',
  durable: 'the messages of the session, in SQLite',
  lost: 'the run, its status and its events, which are in memory',
  missing: () => environmentMissing(installation),
  async start(stage, model) {
    // It refuses more than ten runs at a time unless it is told otherwise.
    const settings = { gateway: { api_server: { max_concurrent_runs: 64 } } };
    const { url, key, pid } = stage.use(await ReferenceServer.start({ modelPort: model.port, settings }));
    const headers = { authorization: `Bearer ${key}` };
    const run = async (input: string) =>
      void (await createAndStream(url, input, 'run.completed', {}, headers));
    return { pids: [pid], text: (chunks) => run(say(chunks)), tool: () => run(CALL) };
  },
};
