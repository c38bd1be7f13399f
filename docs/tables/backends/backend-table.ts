/** The table of docs/backends.md: a column per backend, a row per part of the contract, every mark a result. */
import { CONTRACT_PARTS, type ContractPart } from '../../../packages/sandbox/src/testing/contract-tools.ts';
import type { BackendName } from '../../../packages/server/src/config/settings/backends.ts';
import { table } from '../marked-part.ts';
import { LIMITS, type PartResult, type Results } from './results.ts';

/** The columns of each backend: the name that it gives the contract suite, and what its column is called. */
const VARIANTS: Readonly<Record<BackendName, Readonly<Record<string, string>>>> = {
  local: { bubblewrap: 'local' },
  docker: { Docker: 'Docker', 'Docker with gVisor': 'Docker with gVisor' },
  nomad: { 'Nomad with raw_exec': 'Nomad, `raw_exec`', 'Nomad with docker': 'Nomad, `docker`' },
  kubernetes: { Kubernetes: 'Kubernetes' },
  modal: { 'Modal (the fake)': 'Modal, on a fake' },
};

export const COLUMNS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(VARIANTS).flatMap((variants) => Object.entries(variants)),
);

type Row = ContractPart | typeof LIMITS;

/** The rows, and what their tests show. */
export const ROWS: Readonly<Record<Row, string>> = {
  results: 'results of commands: output, exit codes, signals',
  arguments: 'wrong arguments are refused by name',
  demands: 'a call may demand a sandbox, a network or none, and its errors apart',
  environment: 'a clean environment, nothing of the server in it',
  ending: 'timeouts and aborts leave no process',
  output: 'long output: head, tail, and the whole in a file',
  files: '`read_file`, `write_file`',
  patch: '`patch`',
  search_files: '`search_files`',
  paths: 'no path leads out of the workspace',
  terminal: 'a terminal of the slot, and a shell in it that lives across calls',
  'stateful commands': 'a shell that keeps its directory and variables',
  'background processes': 'background processes',
  batches: 'batches: 200 calls across many slots',
  timeouts: 'hundreds of timeouts at a time leave nothing',
  neighbours: 'slots see nothing of each other',
  slots: 'slots, trajectories, resets',
  snapshots: 'snapshots of workspaces',
  writing: 'files written from outside, whole or not at all',
  captures: 'captures of what changed in a workspace',
  artifacts: 'files read from outside while commands change them',
  lifecycle: 'start, stop, restart, purge',
  [LIMITS]: 'limits of memory, processes and disk',
};

export function backendTable(results: Results): string {
  const names = Object.keys(COLUMNS);
  const rows = Object.entries(ROWS).map(([row, title]) => [
    title,
    ...names.map((name) => cell(results[name]?.[row])),
  ]);
  return table(['', ...Object.values(COLUMNS)], rows);
}

function cell(result: PartResult | undefined): string {
  if (!result || result.passed + result.failed === 0) return '–';
  const { passed, failed } = result;
  return failed === 0 ? `${passed}` : `**${passed} of ${passed + failed}**`;
}

/** Every part of the contract has a row. */
CONTRACT_PARTS satisfies readonly (keyof typeof ROWS)[];
