/**
 * What the tests have shown, for the tables of docs/clients.md: one file for each client and each server, written when all
 * of its tests have run. They lie in a cache; the tables made from them are what is committed.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunnerTask, RunnerTestSuite } from 'vitest';

const DIRECTORY = fileURLToPath(new URL('../../node_modules/.cache/compat', import.meta.url));

export interface ClientName {
  /** As it is called where it is published. */
  name: string;
  version: string;
  language: 'JavaScript' | 'Python';
}

export interface ClientResult extends ClientName {
  shown: { capability: string; ok: boolean }[];
}

export interface ServerResult {
  name: string;
  version: string;
  topics: TopicResult[];
}

export interface TopicResult {
  topic: string;
  passed: number;
  failed: number;
  skipped: number;
}

/** Keeps what the suite has shown of the client, unless only some of its tests were asked for. */
export function recordClient(
  { name, version, language }: ClientName,
  suite: Pick<RunnerTestSuite, 'tasks'>,
): void {
  const tests = testsIn(suite.tasks);
  if (tests.some(({ state }) => state === 'skipped')) return;
  const shown = tests.map((test) => ({ capability: test.name, ok: test.state === 'passed' }));
  write(`client ${name} ${version}`, { name, version, language, shown } satisfies ClientResult);
}

/** Keeps how many tests of each topic the server passes; each suite directly inside `suite` is a topic. */
export function recordServer(name: string, version: string, suite: Pick<RunnerTestSuite, 'tasks'>): void {
  const topics = suite.tasks.flatMap((task) =>
    task.type === 'suite' ? [countTopic(task.name, testsIn(task.tasks))] : [],
  );
  if (topics.every(({ passed, failed }) => passed + failed === 0)) return;
  writeServer({ name, version, topics });
}

export function writeServer(result: ServerResult): void {
  write(`server ${result.name}`, result);
}

export function countTopic(topic: string, tests: { state: TestState }[]): TopicResult {
  const count = (state: TestState) => tests.filter((test) => test.state === state).length;
  return { topic, passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
}

export function readClients(): ClientResult[] {
  return read<ClientResult>('client ');
}

export function readServers(): ServerResult[] {
  return read<ServerResult>('server ');
}

export type TestState = 'passed' | 'failed' | 'skipped';

function testsIn(tasks: readonly RunnerTask[]): { name: string; state: TestState }[] {
  return tasks.flatMap((task) =>
    task.type === 'suite' ? testsIn(task.tasks) : [{ name: task.name, state: stateOf(task) }],
  );
}

function stateOf({ result }: RunnerTask): TestState {
  if (result?.state === 'pass') return 'passed';
  return result?.state === 'fail' ? 'failed' : 'skipped';
}

function write(name: string, value: unknown): void {
  mkdirSync(DIRECTORY, { recursive: true });
  const file = `${name.replaceAll('/', '_')}.json`;
  writeFileSync(join(DIRECTORY, file), `${JSON.stringify(value, undefined, 2)}\n`);
}

function read<T>(prefix: string): T[] {
  mkdirSync(DIRECTORY, { recursive: true });
  return readdirSync(DIRECTORY)
    .filter((file) => file.startsWith(prefix))
    .sort()
    .map((file) => JSON.parse(readFileSync(join(DIRECTORY, file), 'utf8')) as T);
}
