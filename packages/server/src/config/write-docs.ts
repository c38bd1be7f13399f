/** Run this after a change to the table: `npx node packages/server/src/config/write-docs.ts`. */
import { writeFileSync } from 'node:fs';
import { configurationDocument, documentUrl } from './docs.ts';

writeFileSync(documentUrl, configurationDocument());
