import type { AddressInfo } from 'node:net';
import { createJournalServer } from '../../packages/server/src/http/testing/journal-server.ts';
import type { Journal } from '../../packages/server/src/journal/journal.ts';

/** Serves the runs of a journal that its holder appends to. Returns the port. */
export async function serveJournal(journal: Journal): Promise<number> {
  const http = createJournalServer(journal);
  await http.listen({ host: '127.0.0.1', port: 0 });
  return (http.server.address() as AddressInfo).port;
}
