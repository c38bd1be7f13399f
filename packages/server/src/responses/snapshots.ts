/** Saves the final state of a stored response before its run is evicted. */
import type { Journal } from '../journal/journal.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { readResponse } from './response-log.ts';

export async function keepSnapshot(journal: Journal, secrets: Secrets, runId: string): Promise<void> {
  for (const stored of await journal.responses.ofRun(runId)) {
    if (stored.snapshot !== null) continue;
    const response = await readResponse(journal, stored, secrets);
    if (response !== undefined) await journal.responses.keep(stored.responseId, JSON.stringify(response));
  }
}
