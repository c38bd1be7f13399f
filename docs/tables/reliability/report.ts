/** Reads and writes the longest run of `npm run soak`, for docs/reliability.md. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describeMachine, type Machine } from '../../../bench/machine.ts';
import { killsOf, type SoakState } from '../../../test/soak/state.ts';

const REPORT = new URL('longest-soak.json', import.meta.url);

export interface SoakReport extends SoakState {
  machine: Machine;
}

export function readReport(): SoakReport {
  return JSON.parse(readFileSync(REPORT, 'utf8')) as SoakReport;
}

/** Replaces the report of a shorter run only. */
export function writeReport(state: SoakState): void {
  if (existsSync(REPORT) && killsOf(readReport()) > killsOf(state)) {
    console.log(`The report stays: it has ${killsOf(readReport())} kills`);
    return;
  }
  // Where the evidence is means nothing on another machine.
  const violations = state.violations.map((each) => ({ ...each, directory: '' }));
  const report: SoakReport = { ...state, violations, machine: describeMachine() };
  writeFileSync(REPORT, `${JSON.stringify(report, undefined, 2)}\n`);
}
