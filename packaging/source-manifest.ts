/** The files that prepack.ts sets aside and adds, and how to undo that. */
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export const SOURCE_MANIFEST = '.package.source.json';
export const LICENSE = 'LICENSE';

export function restoreSource(directory: string): void {
  renameSync(join(directory, SOURCE_MANIFEST), join(directory, 'package.json'));
  rmSync(join(directory, LICENSE), { force: true });
}
