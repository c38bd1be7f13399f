/**
 * A strict reader of Prometheus' text format: any deviation from the format is an error, so that a test reads what a
 * real scrape would get.
 */
export interface Metric {
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  samples: Sample[];
}

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;

export function parseExposition(text: string): Map<string, Metric> {
  if (!text.endsWith('\n')) throw new Error('The last line does not end');
  const metrics = new Map<string, Metric>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (metrics.has(name!)) throw new Error(`${name} comes twice`);
      metrics.set(name!, { help: rest!, type: 'gauge', samples: [] });
    } else if (kind === 'TYPE') {
      metrics.get(name!)!.type = rest as Metric['type'];
    } else {
      const sample = parseSample(line);
      const metric = metrics.get(sample.name) ?? metrics.get(sample.name.replace(/_(bucket|sum|count)$/, ''));
      if (metric === undefined) throw new Error(`A sample of nothing: ${line}`);
      metric.samples.push(sample);
    }
  }
  return metrics;
}

function parseSample(line: string): Sample {
  const [, name, labels = '', number] = SAMPLE.exec(line) ?? [];
  const value = Number(number?.replace('Inf', 'Infinity'));
  if (name === undefined || Number.isNaN(value)) throw new Error(`Not a sample: ${line}`);
  return { name, labels: parseLabels(labels), value };
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new Error(`Not labels: ${text}`);
    labels[name] = value.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char));
  }
  return labels;
}

/** The value of the one sample with these labels; undefined if there is none. */
export function sampleOf(
  metrics: ReadonlyMap<string, Metric>,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const metric = metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ''));
  const found = metric?.samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  if (found !== undefined && found.length > 1) throw new Error(`Several samples of ${name}`);
  return found?.[0]?.value;
}
