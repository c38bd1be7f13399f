import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pinnedVersion } from '../../../test/compat/python/environments.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { getStream, postStream } from '../../client/streams.ts';
import { environmentMissing, langgraph as installation } from '../installed.ts';
import { CALL, type Peer, say } from '../peer.ts';

const GRAPH = fileURLToPath(new URL('../servers/langgraph_agent.py', import.meta.url));

export const langgraph: Peer = {
  name: 'LangGraph',
  packages: `langgraph-cli ${pinnedVersion(installation, 'langgraph-cli')}, langgraph-api ${pinnedVersion(installation, 'langgraph-api')} (PyPI)`,
  work: 'one POST creates a thread, another starts the run and streams it; a prebuilt agent; a command runs without a sandbox',
  durable:
    'threads, runs and checkpoints are in memory, and in files every 10 s and at an orderly end: this is its server for development. The one for production needs Postgres, Redis and a key of LangSmith; it was not measured',
  lost: 'everything since the files were last written, and all events',
  missing: () => environmentMissing(installation),
  async start(stage, model) {
    const cwd = stage.directory();
    writeFileSync(
      join(cwd, 'langgraph.json'),
      JSON.stringify({ dependencies: ['.'], graphs: { agent: `${GRAPH}:graph` } }),
    );
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const program = stage.program(
      [
        join(installation.directory, 'bin/langgraph'),
        ...['dev', '--no-browser', '--no-reload', '--port', String(port), '--n-jobs-per-worker', '32'],
        ...['--server-log-level', 'error'],
      ],
      {
        cwd,
        env: { MODEL_URL: model.url, LANGGRAPH_CLI_NO_ANALYTICS: '1', LANGSMITH_TRACING: 'false' },
      },
    );
    await program.untilAnswers(`${url}/ok`);
    const run = async (input: string) => {
      const created = await postStream(`${url}/threads`, {}, 'thread_id');
      const { thread_id: threadId } = JSON.parse(created.bytes.toString()) as { thread_id: string };
      const wanted = {
        assistant_id: 'agent',
        input: { messages: [{ role: 'user', content: input }] },
        stream_mode: ['messages-tuple'],
        stream_resumable: true,
      };
      const { bytes } = await postStream(`${url}/threads/${threadId}/runs/stream`, wanted, 'content');
      const { run_id: runId } = /"run_id":\s*"(?<run_id>[^"]+)"/.exec(bytes.toString())!.groups!;
      return `${url}/threads/${threadId}/runs/${runId}/stream`;
    };
    return {
      pids: [program.pid],
      text: async (chunks) => void (await run(say(chunks))),
      tool: async () => void (await run(CALL)),
      async replay(chunks) {
        const stream = await run(say(chunks));
        return async () => void (await getStream(stream, 'content', { 'last-event-id': '-1' }));
      },
    };
  },
};
