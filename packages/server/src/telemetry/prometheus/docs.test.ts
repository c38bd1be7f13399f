import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createToolNames } from '../tool-names.ts';
import { Metrics } from './metrics.ts';

const DOCUMENT = new URL('../../../../../docs/observability.md', import.meta.url);

const metrics = new Metrics({
  version: '1.2.3',
  role: 'all',
  tools: createToolNames([], () => []),
  gauges: {
    load: async () => ({
      queued: 0,
      maxQueued: 0,
      active: 0,
      maxActive: 0,
      waiting: 0,
      waitingForApproval: 0,
      subscribers: 0,
      webhooks: { pending: 0, failed: 0 },
    }),
    sandbox: () => ({ slots: {} }),
    mcpServers: () => [],
  },
});

test('docs/observability.md lists every metric, with its labels and its own help text', async () => {
  const listed = readFileSync(DOCUMENT, 'utf8').match(/^\| `(talaria|process|nodejs)_.*$/gm);
  const known = metrics.registry.getMetricsAsArray().map((metric) => {
    // Typed without what every metric has.
    const { name, help, type, labelNames } = metric as unknown as Row;
    return `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
  });
  expect(listed?.map(squeezed)).toEqual(known.map(squeezed));
});

test('the queries of docs/observability.md use existing metrics', async () => {
  const names = new Set(
    (await metrics.render()).match(/^# TYPE \S+/gm)!.map((line) => line.slice('# TYPE '.length)),
  );
  const code = [...readFileSync(DOCUMENT, 'utf8').matchAll(/^```(?:promql|yaml)\n(.*?)^```/gms)];
  const asked = code.flatMap(([, text]) => text!.match(/\b(talaria|process|nodejs)_\w+/g) ?? []);
  expect(asked.length).toBeGreaterThan(8);
  for (const name of asked) {
    expect(names.has(name) || names.has(name.replace(/_(bucket|sum|count)$/, '')), name).toBe(true);
  }
});

test('what the alerts of docs/observability.md count exists before it happens for the first time', async () => {
  const [alerts] = /^groups:.*?^```/ms.exec(readFileSync(DOCUMENT, 'utf8'))!;
  const counted = [...alerts.matchAll(/increase\((\w+)\{(\w+="\w+")\}/g)];
  expect(counted.length).toBeGreaterThan(2);
  const series = (await metrics.render()).split('\n');
  for (const [, name, label] of counted) {
    expect(series).toContainEqual(expect.stringMatching(`^${name}\\{${label}\\} 0$`));
  }
});

interface Row {
  name: string;
  help: string;
  type: string;
  labelNames: string[];
}

function squeezed(row: string): string {
  return row.replace(/ +/g, ' ');
}
