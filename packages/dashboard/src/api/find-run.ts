/** A run, or what is left of one whose events are gone: its head, which says `evicted`. */
import { APIError, type Run, type Talaria } from '@talaria/client';

export async function findRun(
  client: Talaria,
  runId: string,
  options: { signal: AbortSignal },
): Promise<Run> {
  try {
    return await client.runs.get(runId, options);
  } catch (error) {
    // A server that keeps no heads repeats its 404 here.
    if (error instanceof APIError && error.status === 404) return client.runs.head(runId, options);
    throw error;
  }
}
