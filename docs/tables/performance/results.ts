/** Reads and writes what `npm run bench:growth` and `npm run bench:peers` have measured, for docs/performance.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Point } from '../../../bench/growth/question.ts';
import type { Machine } from '../../../bench/machine.ts';
import type { Figures } from '../../../bench/peers/measures.ts';

const GROWTH = new URL('growth.json', import.meta.url);
const PEERS = new URL('peers.json', import.meta.url);

export interface Growth {
  /** What there was more and more of. */
  of: string;
  machine: Machine;
  points: Point[];
}

/** By the name of the question. */
export type GrowthResults = Record<string, Growth>;

export function readGrowth(): GrowthResults {
  return JSON.parse(readFileSync(GROWTH, 'utf8')) as GrowthResults;
}

export function writeGrowth(results: GrowthResults): void {
  writeFileSync(GROWTH, `${JSON.stringify(results, undefined, 2)}\n`);
}

export interface PeerResults {
  /** What was compared, by the name of the peer. */
  packages: Record<string, string>;
  /** Why a peer was not measured. */
  missing: Record<string, string>;
  /** By the name of the measure. */
  measured: Record<string, { machine: Machine; figures: Figures }>;
}

export function readPeers(): PeerResults {
  return JSON.parse(readFileSync(PEERS, 'utf8')) as PeerResults;
}

export function writePeers(results: PeerResults): void {
  writeFileSync(PEERS, `${JSON.stringify(results, undefined, 2)}\n`);
}
