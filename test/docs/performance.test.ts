/** How docs/performance.md shows what was measured; generated.test.ts compares the page and the pictures with the results. */
import { describe, expect, test } from 'vitest';
import type { Peer } from '../../bench/peers/peer.ts';
import { growthPlot } from '../../docs/tables/performance/growth-plot.ts';
import { growthTable } from '../../docs/tables/performance/growth-table.ts';
import { aheadList, durabilityTable, peerTable } from '../../docs/tables/performance/peer-tables.ts';
import { type Growth, readGrowth, readPeers } from '../../docs/tables/performance/results.ts';

const MACHINE = { node: 'v24', platform: 'linux x64', cpu: 'a cpu', cores: 2, memoryGib: 24, load: 0 };
const GROWTH: Growth = {
  of: 'things',
  machine: MACHINE,
  points: [
    { size: 1, ms: { read: 0.5, write: 2 } },
    { size: 10, ms: { read: 5, write: 2 } },
    { size: 100, ms: { read: 500, write: 2 } },
    { size: 1_000, ms: {}, skipped: 'too many' },
  ],
};
const FIGURES = {
  'text run': { Talaria: [9, 11, 10], Quick: [5], Slow: [12] },
  'text runs a second, 8 at once': { Talaria: [300], Slow: [20] },
};

describe('a table of growth', () => {
  test('has a row per act, and the power that the last step grew with', () => {
    expect(growthTable(GROWTH).split('\n').slice(0, 4)).toEqual([
      '| things | 1 | 10 | 100 | growth |',
      '|---|---|---|---|---|',
      '| read | 0.5 ms | 5 ms | 500 ms | 2.0 |',
      '| write | 2 ms | 2 ms | 2 ms | 0.0 |',
    ]);
  });

  test('names a size that was not measured, with the reason', () => {
    expect(growthTable(GROWTH)).toContain('1,000 were not measured: too many.');
  });
});

describe('a plot of growth', () => {
  const plot = growthPlot(GROWTH);

  test('has a line per act with a point per measured size', () => {
    const lines = [...plot.matchAll(/<polyline[^>]* points="([^"]+)"/g)].map(([, points]) =>
      points!.split(' '),
    );
    expect(lines.map((line) => line.length)).toEqual([3, 3]);
  });

  test('shows equal factors as equal distances on both axes', () => {
    const [read = [], write = []] = [...plot.matchAll(/ points="([^"]+)"/g)].map(([, points]) =>
      points!.split(' ').map((point) => point.split(',').map(Number) as [number, number]),
    );
    expect(read[1]![0] - read[0]![0]).toBeCloseTo(read[2]![0] - read[1]![0], 0);
    // Ten times as much is half of a hundred times as much; up is less.
    expect((read[0]![1] - read[1]![1]) * 2).toBeCloseTo(read[1]![1] - read[2]![1], 0);
    expect(new Set(write.map(([, y]) => y)).size).toBe(1);
  });

  test('labels the axes and every line, and no label covers another', () => {
    for (const text of ['>things<', '>1 ms<', '>100<', '>read<', '>write<']) expect(plot).toContain(text);
    const crowded = growthPlot({ ...GROWTH, points: [{ size: 1, ms: { a: 1, b: 1, c: 1 } }] });
    const places = [...crowded.matchAll(/y="([\d.]+)">[abc]</g)]
      .map(([, y]) => Number(y))
      .toSorted((a, b) => a - b);
    expect(places).toHaveLength(3);
    expect(places[1]! - places[0]!).toBeGreaterThanOrEqual(14);
    expect(places[2]! - places[1]!).toBeGreaterThanOrEqual(14);
  });
});

describe('the comparison', () => {
  test('shows the median of the rounds, and a dash for what a peer does not have', () => {
    expect(peerTable(FIGURES).split('\n')).toEqual([
      '| | text run | text runs a second, 8 at once |',
      '|---|---|---|',
      '| Talaria | 10 ms | 300 |',
      '| Quick | 5 ms | – |',
      '| Slow | 12 ms | 20 |',
      '',
    ]);
  });

  test('names who is ahead, whether more or less is better', () => {
    expect(aheadList(FIGURES).split('\n')).toEqual([
      '- text run, 10 ms here: Quick (5 ms)',
      '- text runs a second, 8 at once, 300 here: nobody',
      '',
    ]);
  });

  test('says why a peer was not measured', () => {
    const peer = { name: 'Quick', work: 'a', durable: 'b', lost: 'c' } as Peer;
    const results = { packages: {}, missing: { Quick: 'no Python' }, measured: {} };
    expect(durabilityTable([peer], results)).toContain(
      '| **Quick**<br>not measured: no Python | a | b | c |',
    );
  });
});

test('the recorded results name neither a path nor a host', () => {
  expect(JSON.stringify([readGrowth(), readPeers()])).not.toMatch(/\/(home|root|tmp|work)\b|https?:/);
});
