/** Stores the suite's results for the server of this repository, for the table in docs/clients.md. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeEach, type RunnerTask } from 'vitest';
import { type TopicResult, writeServer } from '../compat/results.ts';

/** Called inside the suite of the server, whose suites are the topics. */
export function recordTopics(names: readonly string[]): void {
  const topics = new Map(names.map((topic) => [topic, { topic, passed: 0, failed: 0, skipped: 0 }]));
  beforeEach(({ onTestFinished }) => {
    onTestFinished(({ task }) => {
      const topic = topics.get(topicOf(task)) as TopicResult;
      if (task.result?.state === 'pass') topic.passed += 1;
      else if (task.result?.state === 'fail') topic.failed += 1;
      else topic.skipped += 1;
    });
  });
  afterAll(() => {
    const all = [...topics.values()];
    // If only some of the tests run, the stored results of all of them stay.
    if (all.some(({ passed, failed }) => passed + failed === 0)) return;
    const manifest = new URL('../../package.json', import.meta.url);
    const { name, version } = JSON.parse(readFileSync(manifest, 'utf8')) as { name: string; version: string };
    writeServer({ name, version, topics: all });
  });
}

/** The suite of the server contains the suites of the topics. */
function topicOf(task: RunnerTask): string {
  const names: string[] = [];
  for (let { suite } = task; suite !== undefined; { suite } = suite) names.unshift(suite.name);
  return names[1] ?? '';
}
