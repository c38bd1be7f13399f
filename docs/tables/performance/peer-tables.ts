/** The tables of docs/performance.md that compare the peers. */
import type { Figures } from '../../../bench/peers/measures.ts';
import type { Peer } from '../../../bench/peers/peer.ts';
import { median } from '../../../bench/statistics.ts';
import { table } from '../marked-part.ts';
import { figure } from './figure.ts';
import type { PeerResults } from './results.ts';

const OWN = 'Talaria';

/** The columns, in their order: the name of a figure, its unit, and whether more of it is better. */
const COLUMNS: readonly { name: string; unit: string; more?: true }[] = [
  { name: 'text run', unit: 'ms' },
  { name: 'tool run', unit: 'ms' },
  { name: 'text runs a second, 8 at once', unit: '/s', more: true },
  { name: 'text runs a second, 32 at once', unit: '/s', more: true },
  { name: 'processor time of a text run, 8 at once', unit: 'ms' },
  { name: 'processor time of a text run, 32 at once', unit: 'ms' },
  { name: 'replay', unit: 'ms' },
  { name: 'memory after 200 text runs', unit: 'MiB' },
];

/** A row per peer, a column per figure. */
export function peerTable(figures: Figures): string {
  const columns = COLUMNS.filter(({ name }) => name in figures);
  const peers = [...new Set(columns.flatMap(({ name }) => Object.keys(figures[name]!)))];
  const rows = peers.map((peer) => [
    peer,
    ...columns.map(({ name, unit }) => {
      const rounds = figures[name]![peer];
      return rounds === undefined ? '–' : withUnit(median(rounds), unit);
    }),
  ]);
  return table(['', ...columns.map(({ name }) => name)], rows);
}

/** Every figure in which somebody is better than we are, best first. */
export function aheadList(figures: Figures): string {
  const lines = COLUMNS.filter(({ name }) => name in figures).map(({ name, unit, more }) => {
    const medians = Object.entries(figures[name]!).map(([peer, rounds]) => ({ peer, value: median(rounds) }));
    const own = medians.find(({ peer }) => peer === OWN)!.value;
    const ahead = medians
      .filter(({ value }) => (more === true ? value > own : value < own))
      .toSorted((a, b) => (more === true ? b.value - a.value : a.value - b.value))
      .map(({ peer, value }) => `${peer} (${withUnit(value, unit)})`);
    return `- ${name}, ${withUnit(own, unit)} here: ${ahead.length === 0 ? 'nobody' : ahead.join(', ')}\n`;
  });
  return lines.join('');
}

export function durabilityTable(peers: readonly Peer[], { packages, missing }: PeerResults): string {
  const rows = peers.map(({ name, work, durable, lost }) => [
    `**${name}**<br>${packages[name] ?? `not measured: ${missing[name] ?? 'not asked for'}`}`,
    work,
    durable,
    lost,
  ]);
  return table(['', 'what a run is', 'what is on disk', 'what `kill -9` loses'], rows);
}

export function allFigures({ measured }: PeerResults): Figures {
  return Object.assign({}, ...Object.values(measured).map(({ figures }) => figures)) as Figures;
}

function withUnit(value: number, unit: string): string {
  return unit === '/s' ? figure(value) : `${figure(value)} ${unit}`;
}
