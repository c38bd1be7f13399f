/**
 * `npm run conformance:reference [-- --test-limit SEC --limit SEC]`: runs the suite against the reference server, for
 * the table in docs/clients.md. Differences are reported but are not failures: they are facts about it. If it is
 * installed and cannot be run, that is a failure.
 */
import { parseArgs } from 'node:util';
import { writeServer } from '../../compat/results.ts';
import { reasonNotToRun } from './preflight.ts';
import { hasReference, ReferenceServer } from './reference-server.ts';
import { runSuite } from './run-suite.ts';

const { values } = parseArgs({
  options: {
    // On an idle machine it answers soon or never. On a busy one it needs more of both.
    'test-limit': { type: 'string', default: '4' },
    limit: { type: 'string', default: '120' },
  },
});

if (!hasReference()) {
  console.log('The reference server is not installed: run "npm run compat:install"; it needs Python 3.11');
  process.exit(0);
}

await using server = await ReferenceServer.start();
const tested = { baseUrl: server.url, key: server.key, modelHost: '127.0.0.1', modelPort: server.modelPort };
const reason = await reasonNotToRun(tested);
if (reason !== undefined) throw new Error(reason);

console.log(`hermes-agent ${server.version}`);
const topics = await runSuite({
  ...tested,
  otherKey: undefined,
  topics: undefined,
  testLimitMs: Number(values['test-limit']) * 1_000,
  limitMs: Number(values.limit) * 1_000,
  onTopic: ({ topic, passed, failed, skipped }) =>
    console.log(
      `  ${topic}: ${passed} hold, ${failed} differ${skipped > 0 ? `, ${skipped} not looked at` : ''}`,
    ),
});
if (topics.every(({ passed }) => passed === 0))
  throw new Error('Nothing of the suite holds: it cannot have run');
if (topics.some(({ passed, failed }) => passed + failed === 0)) {
  console.log('The time did not suffice for all topics, so the table of docs/clients.md keeps its figures');
} else {
  writeServer({ name: 'hermes-agent', version: server.version, topics });
}
await server[Symbol.asyncDispose]();
// The workers of the suite may still wait for something that the server never sent.
process.exit(0);
