/** `/v1/runs/{id}/diff`: what changed in a run's workspace between two events. */
import { toDownload } from '../download.ts';
import { type Fields, isFields, type RequestOptions, segment, type Transport } from '../transport.ts';

export interface DiffQuery {
  /** As the files were after this event; by default as the run began with them. */
  from?: number | undefined;
  /** As the files were after this event; by default as they are now. */
  to?: number | undefined;
  /** Only this file, or what is in this directory. */
  path?: string | undefined;
}

export interface ChangedFile {
  /** Relative to the workspace. */
  path: string;
  status: 'added' | 'modified' | 'deleted';
  /** Lines; 0 for a binary file. */
  additions: number;
  deletions: number;
  binary: boolean;
}

export interface RunDiff {
  object: 'list';
  data: ChangedFile[];
  /** There are more changed files than the answer has. */
  truncated?: boolean;
}

const STALL_MS = 60_000;

export function getDiff(
  transport: Transport,
  runId: string,
  query: DiffQuery,
  options: RequestOptions,
): Promise<RunDiff> {
  const call = { method: 'GET', path: pathOf(runId), query, fits: isDiff, repeat: true } as const;
  return transport.json<RunDiff>(call, options);
}

export async function getPatch(
  transport: Transport,
  runId: string,
  query: DiffQuery,
  options: RequestOptions,
): Promise<Response> {
  const asked = { ...query, format: 'patch' };
  const call = { method: 'GET', path: pathOf(runId), query: asked, repeat: true } as const;
  const connection = await transport.open(call, options);
  return toDownload(connection, { stallMs: STALL_MS, signal: options.signal });
}

function pathOf(runId: string): string {
  return `/v1/runs/${segment(runId)}/diff`;
}

function isDiff({ data }: Fields): boolean {
  return (
    Array.isArray(data) && data.every((entry: unknown) => isFields(entry) && typeof entry.path === 'string')
  );
}
