import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../test/support/free-port.ts';
import { postStream } from '../../client/streams.ts';
import { inPackage, packageMissing, pinned } from '../installed.ts';
import { type Peer, say } from '../peer.ts';

const PROGRAM_PACKAGE = `@restatedev/restate-server-${process.platform}-${process.arch}`;

export const restate: Peer = {
  name: 'Restate',
  packages: pinned('@restatedev/restate-server', '@restatedev/restate-sdk'),
  work: 'one POST starts a workflow and waits for its result; the workflow asks the model in one durable step and keeps the answer in another (with a tool: asks, runs a command without a sandbox, asks again); no events',
  durable: 'the request and the result of every step, in its log on RocksDB, synced',
  lost: 'what a step did that had not ended: the step runs again',
  missing: () => packageMissing(PROGRAM_PACKAGE),
  async start(stage, model) {
    const cwd = stage.directory();
    const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
    writeFileSync(
      join(cwd, 'restate.toml'),
      `bind-address = "127.0.0.1:${node}"
disable-telemetry = true
log-filter = "error"
[ingress]
bind-address = "127.0.0.1:${ingress}"
[admin]
bind-address = "127.0.0.1:${admin}"
`,
    );
    const program = stage.program(
      [
        inPackage(PROGRAM_PACKAGE, 'bin/restate-server'),
        ...['--no-logo', '--config-file', 'restate.toml', '--base-dir', cwd, '--listen-mode', 'tcp'],
      ],
      { cwd },
    );
    const service = await stage.process('peers/servers/restate.ts', [model.url]);
    await program.untilAnswers(`http://127.0.0.1:${admin}/health`);
    const uri = `http://127.0.0.1:${service.port}`;
    await postStream(`http://127.0.0.1:${admin}/deployments`, { uri }, 'agent');
    await program.untilAnswers(`http://127.0.0.1:${ingress}/restate/health`);
    const run = async (prompt: string, tool: boolean) =>
      void (await postStream(
        `http://127.0.0.1:${ingress}/agent/${randomUUID()}/run`,
        { prompt, tool },
        'word',
      ));
    return {
      pids: [program.pid, service.pid],
      text: (chunks) => run(say(chunks), false),
      tool: () => run(say(1), true),
    };
  },
};
