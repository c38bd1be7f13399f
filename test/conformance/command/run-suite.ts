/** Runs the suite in this process, and returns the results, topic by topic. */
import { fileURLToPath } from 'node:url';
import { startVitest, type TestCase, type TestSuite, type Vitest } from 'vitest/node';
import type { Tested } from './preflight.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface SuiteOptions extends Tested {
  otherKey: string | undefined;
  /** All if undefined. */
  topics: readonly string[] | undefined;
  testLimitMs: number;
  /** After this no further test begins. */
  limitMs: number | undefined;
  onTopic?: (topic: Topic) => void;
}

export interface Topic {
  topic: string;
  passed: number;
  failed: number;
  /** Including those for which there was no time. */
  skipped: number;
  differences: { test: string; difference: string }[];
}

export async function runSuite(options: SuiteOptions): Promise<Topic[]> {
  const { baseUrl, key, otherKey, topics, modelHost, modelPort, testLimitMs, limitMs } = options;
  const isAsked = (suite: TestSuite) => isTopic(suite) && (topics?.includes(suite.name) ?? true);
  let vitest: Vitest | undefined;
  let timer: NodeJS.Timeout | undefined;
  const told = new Set<string>();

  vitest = await startVitest(['test/conformance/conformance.test.ts'], {
    root: ROOT,
    config: false,
    watch: false,
    include: ['test/conformance/conformance.test.ts'],
    ...(topics === undefined ? {} : { testNamePattern: new RegExp(topics.map(escapeRegExp).join('|')) }),
    testTimeout: testLimitMs,
    // A topic's preparation is often a run or two.
    hookTimeout: testLimitMs * 2,
    expect: { poll: { timeout: testLimitMs } },
    env: {
      CONFORMANCE_BASE_URL: baseUrl,
      CONFORMANCE_MODEL_HOST: modelHost,
      CONFORMANCE_MODEL_PORT: String(modelPort),
      ...(key === undefined ? {} : { CONFORMANCE_KEY: key }),
      ...(otherKey === undefined ? {} : { CONFORMANCE_OTHER_KEY: otherKey }),
    },
    reporters: [
      {
        onInit: (started) => {
          vitest = started;
        },
        onTestModuleStart: () => {
          if (limitMs === undefined) return;
          timer = setTimeout(() => void vitest?.cancelCurrentRun('test-failure'), limitMs);
        },
        onTestSuiteResult: (suite) => {
          // A run that is interrupted reports its suites again.
          if (!isAsked(suite) || told.has(suite.name)) return;
          told.add(suite.name);
          options.onTopic?.(topicOf(suite));
        },
      },
    ],
  });
  clearTimeout(timer);
  const suites = vitest.state.getTestModules().flatMap(({ children }) => [...children.allSuites()]);
  await vitest.close();
  return suites.filter(isAsked).map(topicOf);
}

/** The suite of the server contains the suites of the topics. */
function isTopic({ parent }: TestSuite): boolean {
  return parent.type === 'suite' && parent.parent.type === 'module';
}

function topicOf(suite: TestSuite): Topic {
  const topic: Topic = { topic: suite.name, passed: 0, failed: 0, skipped: 0, differences: [] };
  for (const test of suite.children.allTests()) {
    const { state, errors } = test.result();
    if (state === 'passed') topic.passed += 1;
    else if (state !== 'failed') topic.skipped += 1;
    else {
      topic.failed += 1;
      const difference = oneLine(errors[0]?.message ?? '');
      topic.differences.push({ test: pathOf(test).slice(2).join(' '), difference });
    }
  }
  return topic;
}

function pathOf(test: TestCase): string[] {
  const names = [test.name];
  for (let { parent } = test; parent.type === 'suite'; parent = parent.parent as typeof parent) {
    names.unshift(parent.name);
  }
  return names;
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

const MAX_LINE = 200;

function oneLine(message: string): string {
  const plain = message
    .replace(/\u001b\[[0-9;]*m/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return plain.length > MAX_LINE ? `${plain.slice(0, MAX_LINE)}…` : plain;
}
