import { randomUUID } from 'node:crypto';
import { postStream } from '../../client/streams.ts';
import { packageMissing, pinned } from '../installed.ts';
import { CALL, type Peer, say } from '../peer.ts';

const COMMON = {
  packages: pinned('@mastra/core', '@mastra/hono', '@mastra/libsql'),
  missing: () => packageMissing('@mastra/core'),
};

export const mastra: Peer = {
  ...COMMON,
  name: 'Mastra, agent',
  work: 'one POST that answers with the stream; the run ends with the request; a command runs without a sandbox',
  durable: 'nothing of a run without memory; storage is a LibSQL file',
  lost: 'the run',
  start: start('plain'),
};

export const durableMastra: Peer = {
  ...COMMON,
  name: 'Mastra, durable agent',
  work: 'one POST that answers with the stream; the agent works in a workflow; a command runs without a sandbox',
  durable:
    'the state of the workflow after each step, in a LibSQL file; events in memory unless a cache such as Redis is added',
  lost: 'the events; the run starts again from its last step if recovery is switched on (here it is), and may repeat the call it was in',
  start: start('durable'),
};

function start(kind: 'plain' | 'durable'): Peer['start'] {
  return async (stage, model) => {
    const server = await stage.process('peers/servers/mastra.ts', [model.url, stage.directory(), kind]);
    const agent = `http://127.0.0.1:${server.port}/api/agents/agent`;
    const run = async (input: string, runId = randomUUID()) =>
      void (await postStream(`${agent}/stream`, { messages: input, runId }, '"finish"'));
    return {
      pids: [server.pid],
      text: (chunks) => run(say(chunks)),
      tool: () => run(CALL),
      ...(kind === 'durable' && {
        async replay(chunks: number) {
          const runId = randomUUID();
          await run(say(chunks), runId);
          return async () => void (await postStream(`${agent}/observe`, { runId }, 'finish'));
        },
      }),
    };
  };
}
