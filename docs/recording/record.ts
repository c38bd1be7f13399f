/**
 * Writes docs/survives-kill.svg from a real session: a run begins, `kill -9` ends its server, the server starts again,
 * and the same client watches the run to its end. `npm run docs:recording` runs it.
 */
import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { spawnTalaria } from '../../test/cli/talaria.ts';
import { ServerProcess } from '../../test/support/server-process.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { type TerminalLine, terminalSvg } from './terminal-svg.ts';

const PROMPT = 'Run `seq 3 > list`, `sleep 8`, then `sort -r list`';
/** The default port may be taken on this machine. The picture shows the default. */
const PORT = '18642';
/** Nobody wants to watch a server start. */
const LONGEST_PAUSE_S = 1.5;
/** So that a viewer can read what has happened so far. */
const READING_MS = 1_500;

/** Everything typed and printed in both terminals, in order. */
const recorded: { terminal: 'server' | 'client'; at: number; text: string; typed?: boolean }[] = [];

function note(terminal: 'server' | 'client', text: string, typed = false): void {
  recorded.push({ terminal, at: performance.now() / 1000, text, typed });
}

async function startServer(start: () => Promise<void>): Promise<void> {
  note('server', '$ npm start', true);
  await start();
  const lines = server.output.replace(PORT, '8642').replace(server.dataDir, '~/.talaria').split('\n');
  for (const line of lines.slice(0, 3)) note('server', line);
}

await using server = new ServerProcess({ env: { API_SERVER_PORT: PORT } });
await startServer(() => server.start());

note('client', `$ npx talaria run '${PROMPT}' > answer.md`, true);
const { child, output, ended } = spawnTalaria(server.url, ['run', PROMPT]);
child.stdin.end();
let rest = '';
child.stderr.on('data', (text: string) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop()!;
  for (const line of lines) note('client', line);
});

await waitFor('the second command to run', () => output.stderr.includes('> terminal  sleep'));
await setTimeout(READING_MS);
note('server', `# from another terminal, while the second command runs: kill -9 ${server.pid}`, true);
await server.kill();
note('server', 'Killed');
await waitFor('the client to notice', () => output.stderr.includes('Connection lost'));
await setTimeout(READING_MS);
await startServer(() => server.start());
const { code } = await ended;
if (code !== 0) throw new Error(`The run did not complete:\n${output.stderr}`);

let time = 0;
let last = recorded[0]!.at;
const shown = recorded.map(({ at, ...line }) => {
  time += Math.min(at - last, LONGEST_PAUSE_S);
  last = at;
  return { ...line, at: time };
});
const linesOf = (terminal: string): TerminalLine[] => shown.filter((line) => line.terminal === terminal);
writeFileSync(
  new URL('../survives-kill.svg', import.meta.url),
  terminalSvg('A run survives kill -9 of its server', [
    { title: 'terminal 1: the server', lines: linesOf('server') },
    { title: 'terminal 2: a client', lines: linesOf('client') },
  ]),
);
