/** The progress of a soak. The soak writes it after each round, so that the next sitting continues where this one ended. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoreName, Violation } from './evidence.ts';
import type { RoundResult } from './round.ts';

export interface SoakState {
  seed: number;
  version: string;
  rounds: number;
  seconds: number;
  /** By store. */
  stores: Partial<Record<StoreName, StoreTotals>>;
  violations: (Violation & { round: number; directory: string })[];
}

export interface StoreTotals {
  rounds: number;
  /** Deaths, by what was killed and how. */
  kills: Record<string, number>;
  /** Processes that were only stopped for a while. */
  pauses: number;
  work: Record<string, number>;
  ends: Record<string, number>;
  calls: number;
}

export function newState(seed: number, version: string): SoakState {
  return { seed, version, rounds: 0, seconds: 0, stores: {}, violations: [] };
}

export function readState(directory: string): SoakState | undefined {
  const path = join(directory, 'state.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as SoakState) : undefined;
}

/** As a whole or not at all. */
export function writeState(directory: string, state: SoakState): void {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'state.json');
  writeFileSync(`${path}.new`, `${JSON.stringify(state, undefined, 2)}\n`);
  renameSync(`${path}.new`, path);
}

export function addRound(state: SoakState, store: StoreName, result: RoundResult, directory: string): void {
  state.stores[store] ??= { rounds: 0, kills: {}, pauses: 0, work: {}, ends: {}, calls: 0 };
  const totals = state.stores[store];
  totals.rounds += 1;
  totals.calls += result.calls;
  for (const { how, target } of result.disruptions) {
    if (how === 'pause') totals.pauses += 1;
    else count(totals.kills, kindOf(how, target), 1);
  }
  for (const [kind, times] of Object.entries(result.work)) count(totals.work, kind, times);
  for (const [end, times] of Object.entries(result.ends)) count(totals.ends, end, times);
  state.violations.push(...result.violations.map((each) => ({ ...each, round: state.rounds, directory })));
  state.rounds += 1;
}

export function killsOf({ stores }: Pick<SoakState, 'stores'>): number {
  return Object.values(stores).reduce((sum, { kills }) => sum + sumOf(kills), 0);
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, each) => sum + each, 0);
}

function kindOf(how: string, target: string): string {
  if (target === 'the database') return `database: ${how === 'kill' ? 'kill -9' : 'stopped in order'}`;
  if (how === 'sandbox') return 'sandbox: kill -9';
  if (how.startsWith('failpoint')) return 'server: at a failpoint';
  return how === 'kill' ? 'server: kill -9' : 'server: stopped, some then killed';
}

function count(counts: Record<string, number>, name: string, by: number): void {
  counts[name] = (counts[name] ?? 0) + by;
}
