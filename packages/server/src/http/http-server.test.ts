import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import type { Engine } from '../engine/engine.ts';
import { noReport } from '../telemetry/facts.ts';
import { createHttpServer } from './http-server.ts';

const lines: string[] = [];
const failing = async (): Promise<never> => {
  throw new Error('the reason is for the log alone');
};
const http = createHttpServer({
  engine: { draining: false, load: failing } as unknown as Engine,
  role: 'work',
  maxBodiesBytes: 256_000_000,
  apiKeys: [],
  corsOrigins: [],
  version: '0.0.0',
  logger: pino({}, { write: (line: string) => void lines.push(line) }),
  mcpServers: () => [],
  metrics: { contentType: 'text/plain', render: failing } as never,
  report: noReport,
  checks: async () => ({}),
  peers: undefined,
  api: undefined,
});
afterAll(() => http.close());

test('a log line about a request has the same id as its response', async () => {
  const headers = { host: '127.0.0.1', 'x-request-id': 'asked-by-ada' };
  const answer = await http.inject({ url: '/health/detailed', headers });
  expect([answer.statusCode, answer.headers['x-request-id']]).toEqual([500, 'asked-by-ada']);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ requestId: 'asked-by-ada', level: 50 }]);
});
