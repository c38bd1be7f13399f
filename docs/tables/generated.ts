/** The documents that come from the code, whole or in part. Each is worked out from its present text. */

import { backendTable } from './backends/backend-table.ts';
import { readResults } from './backends/results.ts';
import { configurationDocument } from './configuration.ts';
import { apiErrorTable, runFailureTable } from './error-tables.ts';
import { eventTable } from './event-table.ts';
import { replaceMarkedPart } from './marked-part.ts';
import { performancePage, performancePictures } from './performance/performance-page.ts';
import { recordTable } from './record-table.ts';
import { readReport } from './reliability/report.ts';
import { soakReport } from './reliability/soak-table.ts';

/** By path in the repository. */
export const GENERATED: Readonly<Record<string, (present: string) => string>> = {
  'docs/configuration.md': configurationDocument,
  'docs/backends.md': (present) => replaceMarkedPart(present, 'contract', backendTable(readResults())),
  'docs/errors.md': (present) =>
    replaceMarkedPart(
      replaceMarkedPart(present, 'api-errors', apiErrorTable()),
      'run-failures',
      runFailureTable(),
    ),
  'docs/performance.md': performancePage,
  ...performancePictures(),
  'docs/reliability.md': (present) => replaceMarkedPart(present, 'soak', soakReport(readReport())),
  'PROTOCOL.md': (present) => replaceMarkedPart(present, 'events', eventTable()),
  'ARCHITECTURE.md': (present) => replaceMarkedPart(present, 'records', recordTable()),
};
