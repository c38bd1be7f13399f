/**
 * The gate: how long the worst known command blocks the thread, and how long an everyday one does. It measures
 * processor time, not wall time, so that other load does not count; in this process, after a warm-up, like a server
 * that has judged commands before.
 */
import { MAX_COMMAND_CHARS } from '../../packages/server/src/agent/approvals/matcher/budget.ts';
import { classifyCommand } from '../../packages/server/src/agent/approvals/matcher/classify.ts';
import type { Row } from '../rows.ts';

const ROUNDS = 9;
const EVERYDAY = 'cd packages/a && NODE_ENV=test npm test 2>&1 | tail -20';
/** Repeated up to the longest command that the gate reads. */
const HOSTILE = [
  ...[
    'x=aaa;echo $x;',
    'cat f f > g; cat g g > f;',
    '{ a;};',
    'x+=$x;',
    'ls;',
    'ls --foo ',
    '$x',
    '1>',
    '`',
    ';',
  ],
  ...[
    'x=1 ',
    '<<E\nx\nE\n',
    'ssh h ',
    'psql -c "delete from x" ',
    'awk "|',
    'sed s/',
    'f(){ f|g; };',
    '$(',
    "'",
  ],
];

export function gate(): Promise<Row[]> {
  const hostile = HOSTILE.map((unit) => unit.repeat(Math.floor(MAX_COMMAND_CHARS / unit.length)));
  const rounds = Array.from({ length: ROUNDS + 2 }, () => ({
    worst: Math.max(...hostile.map((command) => processorMs(command, 1))),
    everyday: processorMs(EVERYDAY, 200),
  })).slice(2);
  return Promise.resolve([
    {
      what: 'gate: processor time of the worst of the hostile commands',
      unit: 'ms',
      better: 'less',
      ours: rounds.map(({ worst }) => worst),
      aim: { of: 'ours', atMost: 20 },
    },
    {
      what: 'gate: processor time of an everyday command',
      unit: 'ms',
      better: 'less',
      ours: rounds.map(({ everyday }) => everyday),
      aim: { of: 'ours', atMost: 1 },
    },
  ]);
}

function processorMs(command: string, times: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) classifyCommand(command);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / times;
}
