/**
 * `npm run bench:peers`: other servers of agents, workflows and streams beside Talaria, with the same model, in one run.
 * `npm run peers:install` installs them; what is not installed is named and left out.
 *
 *   npm run bench:peers                               everything
 *   npm run bench:peers -- text tool                  some of the measures
 *   npm run bench:peers -- --peer Talaria --peer DBOS some of the peers
 *   npm run bench:peers -- --record                   keep the figures for docs/performance.md (then: npm run docs)
 *
 * All peers run during the whole measurement, and take turns. Each has its own processes; this process is the client of
 * all of them.
 */
import { parseArgs } from 'node:util';
import { peerTable } from '../../docs/tables/performance/peer-tables.ts';
import { readPeers, writePeers } from '../../docs/tables/performance/results.ts';
import { describeMachine, printMachine } from '../machine.ts';
import { Stage } from '../stage.ts';
import { MEASURES, type Started } from './measures.ts';
import { PEERS } from './peers.ts';

// Nobody outside this machine is told about the measurement.
process.env.MASTRA_TELEMETRY_DISABLED = '1';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    record: { type: 'boolean', default: false },
    peer: { type: 'string', multiple: true },
  },
});
const unknown = [
  ...positionals.filter((name) => !(name in MEASURES)),
  ...(values.peer ?? []).filter((name) => !PEERS.some((peer) => peer.name === name)),
];
if (unknown.length > 0) {
  console.error(
    `Unknown: ${unknown.join(', ')}. Measures: ${Object.keys(MEASURES).join(', ')}. ` +
      `Peers: ${PEERS.map(({ name }) => name).join('; ')}`,
  );
  process.exit(2);
}

const stage = new Stage();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await stage[Symbol.asyncDispose]();
    process.exit(1);
  });
}

const machine = describeMachine();
console.log(printMachine(machine));
const started: Started[] = [];
const missing: Record<string, string> = {};
try {
  const { port } = await stage.process('processes/model.ts');
  for (const peer of PEERS.filter(({ name }) => values.peer?.includes(name) ?? true)) {
    const reason = peer.missing();
    if (reason !== undefined) {
      console.log(`${peer.name} is left out: ${reason}`);
      missing[peer.name] = reason;
      continue;
    }
    const running = await peer.start(stage, { port, url: `http://127.0.0.1:${port}/v1` });
    started.push({ peer, running });
    process.stderr.write(`${peer.name} has started\n`);
  }
  for (const name of positionals.length > 0 ? positionals : Object.keys(MEASURES)) {
    const figures = await MEASURES[name]!(started);
    console.log(`\n${peerTable(figures)}`);
    if (values.record) {
      const { measured, packages } = readPeers();
      writePeers({
        packages: {
          ...packages,
          ...Object.fromEntries(started.map(({ peer }) => [peer.name, peer.packages])),
        },
        missing,
        measured: { ...measured, [name]: { machine, figures } },
      });
    }
  }
} finally {
  await stage[Symbol.asyncDispose]();
}
process.exit(0);
