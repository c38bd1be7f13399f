/** What a download is read from: one file of a workspace, or an archive of a directory. */
import { APIError, type Talaria } from '@talaria/client';
import { nameOf } from './destination.ts';

export interface Source {
  /** Its default name. */
  readonly name: string;
  readonly response: Response;
  /** The sha256 of the whole, if the server sends it. */
  readonly digest: string | undefined;
  /** The same from a later byte on; not for data that is generated while it is sent. */
  readonly openAt?: (start: number) => Promise<Response>;
}

export interface Wanted {
  readonly runId: string;
  readonly path: string | undefined;
  readonly format: 'tar.gz' | 'tar' | 'zip' | undefined;
}

/** A restarted server is back by then. */
const MAX_RETRIES = 5;

export async function openSource(client: Talaria, wanted: Wanted, signal: AbortSignal): Promise<Source> {
  const { runId, path, format } = wanted;
  // Reports at once, without retries, that it does not exist, or that there is no server.
  await client.runs.artifacts.list(runId, { path }, { signal });
  if (path !== undefined && format === undefined && !path.endsWith('/')) {
    const file = await openFile(client, runId, path, signal);
    if (file !== undefined) return file;
  }
  const chosen = format ?? 'tar.gz';
  const response = await client.runs.artifacts.archive(runId, { path, format: chosen }, { signal });
  const directory = path === undefined ? undefined : nameOf(path);
  return { name: `${directory ?? runId}.${chosen}`, response, digest: undefined };
}

/** Undefined for a directory, which can be listed but not read. */
export async function openFile(
  client: Talaria,
  runId: string,
  path: string,
  signal: AbortSignal,
): Promise<Source | undefined> {
  const openAt = (start: number): Promise<Response> =>
    client.runs.artifacts.read(runId, path, { signal, start, maxRetries: MAX_RETRIES });
  try {
    const response = await openAt(0);
    const [, digest] = /^"([0-9a-f]{64})"$/.exec(response.headers.get('etag') ?? '') ?? [];
    return { name: nameOf(path) ?? path, response, digest, openAt };
  } catch (error) {
    if (error instanceof APIError && error.code === 'invalid_path') return undefined;
    throw error;
  }
}
