/**
 * How long a person waits for a command: `talaria runs` in a new process, compared with a new Node that sends the same
 * request.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const BIN = fileURLToPath(new URL('../../packages/server/bin/talaria.js', import.meta.url));
const BARE_REQUEST = "fetch(process.env.TALARIA_BASE_URL + '/v1/runs').then((answer) => answer.json())";
const ROUNDS = 15;

export async function command(stage: Stage): Promise<Row[]> {
  const { url } = await stage.server({});
  const timed = async (args: string[]): Promise<number> => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, HOME: '/nonexistent/home', TALARIA_BASE_URL: url },
      stdio: 'ignore',
    });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
    return performance.now() - startedAt;
  };
  const ours = () => timed([BIN, 'runs']);
  // Fills the compile cache, as the first use does for every later one.
  await ours();
  const rounds = await alternate(ROUNDS, { floor: () => timed(['-e', BARE_REQUEST]), ours });
  return [
    {
      what: '`talaria runs`, start to end',
      unit: 'ms',
      better: 'less',
      ours: rounds.ours,
      floor: { name: 'bare node, one fetch', rounds: rounds.floor },
      aim: { of: 'ratio', atMost: 2 },
    },
  ];
}
