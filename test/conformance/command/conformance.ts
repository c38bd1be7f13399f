/**
 * `npm run conformance -- --base-url URL --key KEY`: reports which parts of the protocol a server fulfils, and what
 * differs.
 *
 * Exit code 0: everything passes. 1: something differs. 2: the suite could not run.
 */
import { parseArgs } from 'node:util';
import { reasonNotToRun } from './preflight.ts';
import { runSuite, type Topic } from './run-suite.ts';

const USAGE = `Usage: npm run conformance -- --base-url URL [options]

  --base-url URL     the server, without /v1
  --key KEY          a key of the server (or CONFORMANCE_KEY); without it the server is taken to be open
  --other-key KEY    a second key, to see that one does not see what is the other's
  --topic TOPIC      only this topic; may be given several times
  --model-port PORT  where the suite's model listens, which the server has to use (8643)
  --model-host HOST  the address it listens on (127.0.0.1)
  --test-limit SEC   the longest that a test may take (30)
  --limit SEC        the longest that the whole may take; tests after that are skipped
  --json             print the result as JSON

The server must use the suite's scripted model, for example:
  OPENAI_BASE_URL=http://127.0.0.1:8643/v1 TALARIA_MODEL=scripted npm start`;

const FAILED_TO_RUN = 2;

function options() {
  try {
    return parseArgs({
      options: {
        'base-url': { type: 'string' },
        key: { type: 'string' },
        'other-key': { type: 'string' },
        'model-port': { type: 'string', default: '8643' },
        'model-host': { type: 'string', default: '127.0.0.1' },
        'test-limit': { type: 'string', default: '30' },
        limit: { type: 'string' },
        topic: { type: 'string', multiple: true },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(`${(error as Error).message}\n\n${USAGE}`);
  }
}

const values = options();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const url = values['base-url'] ?? refuse(`--base-url is missing\n\n${USAGE}`);
if (!URL.canParse(url)) refuse(`--base-url must be a URL such as http://127.0.0.1:8642, got ${url}`);

const tested = {
  baseUrl: url.replace(/\/$/, ''),
  key: values.key ?? process.env.CONFORMANCE_KEY,
  modelHost: values['model-host'],
  modelPort: seconds('model-port'),
};
const reason = await reasonNotToRun(tested);
if (reason !== undefined) refuse(reason);

if (!values.json) console.log(`The server at ${tested.baseUrl}\n`);
const topics = await runSuite({
  ...tested,
  otherKey: values['other-key'],
  topics: values.topic,
  testLimitMs: seconds('test-limit') * 1_000,
  limitMs: values.limit === undefined ? undefined : seconds('limit') * 1_000,
  ...(values.json ? {} : { onTopic: print }),
});

if (topics.length === 0) refuse(`There is no topic ${values.topic?.join(' or ')}`);

const total = (count: (topic: Topic) => number) => topics.reduce((sum, topic) => sum + count(topic), 0);
const result = {
  base_url: tested.baseUrl,
  passed: total(({ passed }) => passed),
  failed: total(({ failed }) => failed),
  skipped: total(({ skipped }) => skipped),
  topics,
};
if (values.json) console.log(JSON.stringify(result, undefined, 2));
else console.log(`\n${result.passed} hold, ${result.failed} differ, ${result.skipped} were not looked at`);
// The workers of the suite may still wait for something that the server never sent.
process.exit(result.failed > 0 ? 1 : 0);

function print({ topic, passed, failed, skipped, differences }: Topic): void {
  const all = passed + failed + skipped;
  const mark = failed > 0 ? '✗' : skipped === all ? '–' : '✓';
  console.log(`${mark} ${topic}: ${passed} of ${all} hold${skipped > 0 ? `, ${skipped} not looked at` : ''}`);
  for (const { test, difference } of differences) console.log(`    ${test}\n      ${difference}`);
}

function seconds(name: 'model-port' | 'test-limit' | 'limit'): number {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value <= 0) refuse(`--${name} must be a whole number, got ${values[name]}`);
  return value;
}

function refuse(message: string): never {
  console.error(message);
  process.exit(FAILED_TO_RUN);
}
