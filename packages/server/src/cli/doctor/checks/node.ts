/** The Node this runs on. An older one would not have got here: bin/talaria.js refuses it. */
import type { Finding } from '../finding.ts';

export function checkNode(): Finding {
  return { status: 'ok', detail: `${process.versions.node} on ${process.platform} ${process.arch}` };
}
