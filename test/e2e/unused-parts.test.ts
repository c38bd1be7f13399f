/** A server does not load what it does not use: each part costs every start its time. */
import { mkdtempDisposableSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { FROM_SOURCE, ServerProcess } from '../support/server-process.ts';
import { endsAs } from './server-with-model.ts';

const RECORDER = import.meta.resolve('../support/record-modules.ts');

const USED = [
  '/packages/sandbox/src/local/',
  '/packages/server/src/journal/sqlite/',
  '/node_modules/fastify/',
];
/** Without an endpoint for traces none of it is needed. */
const TRACING = '/node_modules/@opentelemetry/sdk-trace';
const UNUSED = [
  '/packages/sandbox/src/docker/',
  '/packages/sandbox/src/pool/',
  '/packages/sandbox/src/containers/',
  '/packages/server/src/journal/postgres/',
  '/packages/server/src/telemetry/opentelemetry/',
  '/packages/client/',
  '/node_modules/pg/',
  TRACING,
  '/node_modules/@modelcontextprotocol/',
  '/node_modules/@ai-sdk/',
  '/node_modules/ajv/',
  '/node_modules/@fastify/fast-json-stringify-compiler/',
];

test('a server on its defaults loads no driver, provider or client that it does not use', {
  tags: ['soak'],
}, async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'talaria-modules-'));
  const file = join(directory.path, 'modules');
  await using server = await ServerProcess.start({
    program: FROM_SOURCE,
    env: { NODE_OPTIONS: `--import=${RECORDER}`, RECORD_MODULES: file },
  });
  const isLoaded = (part: string): boolean =>
    readFileSync(file, 'utf8')
      .split('\n')
      .some((url) => url.includes(part));
  expect(USED.filter(isLoaded)).toEqual(USED);
  expect(UNUSED.filter(isLoaded)).toEqual([]);

  const api = new Api(server.url);
  await endsAs(api, await api.create('hello'), 'run.completed');
  expect(isLoaded(TRACING)).toBe(false);
});
