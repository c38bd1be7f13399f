import { getStream, postStream } from '../../client/streams.ts';
import { packageMissing, pinned } from '../installed.ts';
import { type Peer, say } from '../peer.ts';

export const durableStreams: Peer = {
  name: 'Durable Streams',
  packages: pinned('@durable-streams/server', '@durable-streams/client'),
  work: 'one POST creates a stream, and a GET follows it; a producer beside the server writes the text of the model into it; no agent and no tools',
  durable: 'every append, in a file per stream, synced before it is acknowledged',
  lost: 'what the producer had not appended; nothing asks the model again',
  missing: () => packageMissing('@durable-streams/server'),
  async start(stage, model) {
    const server = await stage.process('peers/servers/durable-streams.ts', [model.url, stage.directory()]);
    const run = async (chunks: number): Promise<string> => {
      const { bytes } = await postStream(`http://127.0.0.1:${server.port}/`, { prompt: say(chunks) }, 'url');
      const { url } = JSON.parse(bytes.toString()) as { url: string };
      return `${url}?offset=-1&live=sse`;
    };
    const read = async (stream: string) => void (await getStream(stream, 'word'));
    return {
      pids: [server.pid],
      text: async (chunks) => read(await run(chunks)),
      async replay(chunks) {
        const stream = await run(chunks);
        await read(stream);
        return () => read(stream);
      },
    };
  },
};
