/**
 * Measures the two ways to reach a task of Nomad, one beside the other, and writes it into docs/nomad.md: `npm run docs:nomad`.
 * Both lead to a program that sends back what it gets. TCP is without TLS here, so it is the floor: a real cluster would need
 * TLS and a key for it.
 */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { replaceMarkedPart, table } from '../docs/tables/marked-part.ts';
import { NomadApi } from '../packages/sandbox/src/nomad/nomad-api.ts';
import { NomadAgent, whyNoNomad } from '../packages/sandbox/src/nomad/testing/nomad-agent.ts';
import { medianTime, timeOf } from './client/commands.ts';
import { alternate, median } from './statistics.ts';

const ROUNDS = 5;
const QUESTIONS = 100;
const QUESTION = Buffer.alloc(300, 'question ');
const MANY = Buffer.alloc(16 * 1024 * 1024, 'x');
const DOCUMENT = new URL('../docs/nomad.md', import.meta.url);
const JOB = 'echo';
const never = new AbortController().signal;

interface Figures {
  open: number;
  question: number;
  many: number;
}

const ROWS: { [Figure in keyof Figures]: string } = {
  open: 'opened and first answer',
  question: 'a question of 300 bytes and its answer',
  many: '16 MB there and back',
};

/** Resolves when as much has come back as was sent. */
async function ask(stream: Duplex, bytes: Buffer): Promise<void> {
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  let length = 0;
  const count = (chunk: Buffer) => {
    length += chunk.length;
    if (length === bytes.length) resolve();
  };
  stream.on('data', count);
  stream.write(bytes);
  await answered;
  stream.off('data', count);
}

async function measure(open: () => Promise<Duplex>): Promise<Figures> {
  let opened: Duplex | undefined;
  const openMs = await timeOf(async () => {
    opened = await open();
    await ask(opened, QUESTION);
  });
  const stream = opened as Duplex;
  const question = await medianTime(QUESTIONS, () => ask(stream, QUESTION));
  const many = await timeOf(() => ask(stream, MANY));
  stream.destroy();
  return { open: openMs, question, many };
}

const missing = whyNoNomad();
if (missing !== undefined) throw new Error(`Nomad cannot be measured here: ${missing}`);
await using agent = await NomadAgent.start();
const api = new NomadApi({ address: agent.address });

const free = createServer().listen(0, '127.0.0.1');
await once(free, 'listening');
const { port } = free.address() as { port: number };
free.close();
const echo = `require('node:net').createServer((socket) => socket.pipe(socket)).listen(${port}, '127.0.0.1')`;
await api.registerJob({
  ...{ ID: JOB, Name: JOB, Type: 'batch', Datacenters: ['*'] },
  TaskGroups: [
    {
      Name: JOB,
      Tasks: [{ Name: JOB, Driver: 'raw_exec', Config: { command: process.execPath, args: ['-e', echo] } }],
    },
  ],
});
const allocation = await api.untilAllocations(
  JOB,
  ([first]) => (first?.ClientStatus === 'running' ? first.ID : undefined),
  AbortSignal.timeout(60_000),
);

async function openTcp(): Promise<Duplex> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  await once(socket, 'connect');
  return socket;
}

// The task runs, but may not listen yet.
while (
  !(await openTcp().then(
    (socket) => socket.destroy(),
    () => false,
  ))
);

const measured = await alternate(ROUNDS, {
  '`alloc exec`': () => measure(() => api.exec(allocation, JOB, ['/bin/cat'], never)),
  TCP: () => measure(openTcp),
});
await api.stopJob(JOB, { purge: false });
await api.untilAllocations(
  JOB,
  ([first]) => first?.ClientStatus === 'complete' || undefined,
  AbortSignal.timeout(60_000),
);

const rows = (Object.keys(ROWS) as (keyof Figures)[]).map((figure) => [
  ROWS[figure],
  ...Object.values(measured).map((rounds) => {
    const ms = median(rounds.map((round) => round[figure]));
    return `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`;
  }),
]);
const figures = table(['', ...Object.keys(measured)], rows);
await writeFile(DOCUMENT, replaceMarkedPart(await readFile(DOCUMENT, 'utf8'), 'reach', figures));
console.log(figures);
