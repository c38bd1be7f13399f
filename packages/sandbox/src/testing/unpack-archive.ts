import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ARCHIVE_FORMATS, type ArchiveFormat } from '../artifacts.ts';

/** Archives are checked with the usual programs; a zip only if there is one for it. */
export const FORMATS = ARCHIVE_FORMATS.filter(
  (format) => format !== 'zip' || spawnSync('unzip', ['-v']).status === 0,
);

/** The archive as the usual programs see it: its names in order, and the contents of all files in one text. */
export async function unpackArchive(
  format: ArchiveFormat,
  content: Buffer,
  look: (directory: string) => void = () => {},
): Promise<{ names: string[]; all: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-archive-'));
  const into = join(directory, 'into');
  try {
    const file = join(directory, `archive.${format}`);
    writeFileSync(file, content);
    execFileSync('mkdir', [into]);
    const options = { stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'] };
    if (format === 'zip') {
      // unzip calls an archive without entries an error.
      if (content.length > 22) {
        execFileSync('unzip', ['-tqq', file], options);
        execFileSync('unzip', ['-q', file, '-d', into], options);
      }
    } else {
      execFileSync('tar', ['-xpf', file, '-C', into, '--no-same-owner'], options);
    }
    look(into);
    const files = readdirSync(into, { recursive: true, withFileTypes: true });
    for (const entry of files) expect(entry.isFile() || entry.isDirectory(), entry.name).toBe(true);
    const all = execFileSync('sh', ['-c', 'find . -type f -exec cat {} +'], {
      cwd: into,
      maxBuffer: 1e9,
      encoding: 'utf8',
    });
    return { names: readdirSync(into, { recursive: true, encoding: 'utf8' }).sort(), all };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
