/** A server does not load what it does not use: each part costs every start its time. */
import { mkdtempDisposableSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FROM_SOURCE, ServerProcess } from '../support/server-process.ts';

const RECORDER = import.meta.resolve('../support/record-modules.ts');

const USED = [
  '/packages/sandbox/src/local/',
  '/packages/server/src/journal/sqlite/',
  '/node_modules/fastify/',
];
const UNUSED = [
  '/packages/sandbox/src/docker/',
  '/packages/sandbox/src/pool/',
  '/packages/sandbox/src/containers/',
  '/packages/server/src/journal/postgres/',
  '/packages/server/src/telemetry/opentelemetry/',
  '/packages/client/',
  '/node_modules/pg/',
  '/node_modules/@modelcontextprotocol/',
  '/node_modules/@ai-sdk/',
  '/node_modules/ajv/',
  '/node_modules/@fastify/fast-json-stringify-compiler/',
];

test('a server on its defaults loads no driver, provider or client that it does not use', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'talaria-modules-'));
  const file = join(directory.path, 'modules');
  await using _ = await ServerProcess.start({
    program: FROM_SOURCE,
    env: { NODE_OPTIONS: `--import=${RECORDER}`, RECORD_MODULES: file },
  });
  const loaded = readFileSync(file, 'utf8').split('\n');
  const isLoaded = (part: string): boolean => loaded.some((url) => url.includes(part));
  expect(USED.filter(isLoaded)).toEqual(USED);
  expect(UNUSED.filter(isLoaded)).toEqual([]);
});
