/** `/v1/runs/{id}/diff`: what changed in a run's workspace between two events. */
import type { RunDiff } from '@talaria/protocol';
import { toDownload } from '../download.ts';
import { type Fields, isFields, type RequestOptions, segment, type Transport } from '../transport.ts';

export interface DiffQuery {
  /** The `seq` of an event: the files as they were after it. By default as the run began with them. */
  from?: number | undefined;
  /** The `seq` of an event: the files as they were after it. By default those of the last checkpoint. */
  to?: number | undefined;
  /** Only this file, or what is in this directory. */
  path?: string | undefined;
}

/** The server compares files before it sends the first byte. */
const TIMEOUT_MS = 120_000;
const STALL_MS = 60_000;

export function getDiff(
  transport: Transport,
  runId: string,
  query: DiffQuery,
  options?: RequestOptions,
): Promise<RunDiff> {
  const call = { ...callOf(runId), query, fits: isDiff };
  return transport.json<RunDiff>(call, options);
}

export async function getPatch(
  transport: Transport,
  runId: string,
  query: DiffQuery,
  options: RequestOptions,
): Promise<Response> {
  const call = { ...callOf(runId), query: { ...query, format: 'patch' } };
  return toDownload(await transport.open(call, options), { stallMs: STALL_MS, signal: options.signal });
}

function callOf(runId: string) {
  const path = `/v1/runs/${segment(runId)}/diff`;
  return { method: 'GET', path, timeout: TIMEOUT_MS, repeat: true } as const;
}

function isDiff({ data }: Fields): boolean {
  return Array.isArray(data) && data.every((file) => isFields(file) && typeof file.path === 'string');
}
