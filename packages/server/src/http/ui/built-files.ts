/**
 * The built files of the page, read once into memory: there are few, and they are small. `npm ci` builds them. A server
 * without them works as well: it says how to build them instead.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

export interface BuiltFile {
  bytes: Buffer;
  type: string;
  etag: string;
  /** Its name contains its hash, so it never changes. */
  lasting: boolean;
  /** Compressed when it is first asked for. */
  gzipped(): Promise<Buffer>;
}

/** By path, such as `assets/index-abc.js`. Empty if the page has not been built. */
export type BuiltFiles = ReadonlyMap<string, BuiltFile>;

export function readBuiltFiles(directory: string | undefined): BuiltFiles {
  const files = new Map<string, BuiltFile>();
  if (directory === undefined) return files;
  try {
    for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
      const type = TYPES[extname(entry.name)];
      if (!entry.isFile() || type === undefined) continue;
      const path = join(entry.parentPath, entry.name);
      files.set(path.slice(directory.length + 1).replaceAll(sep, '/'), toFile(readFileSync(path), type));
    }
  } catch {
    files.clear();
  }
  for (const [path, file] of files) file.lasting = path.startsWith('assets/');
  return files;
}

/** Where `@talaria/dashboard` has its built files; undefined if it is not installed. */
export function builtDirectory(): string | undefined {
  try {
    return fileURLToPath(new URL('dist', import.meta.resolve('@talaria/dashboard/package.json')));
  } catch {
    return undefined;
  }
}

function toFile(bytes: Buffer, type: string): BuiltFile {
  let gzipped: Promise<Buffer> | undefined;
  return {
    bytes,
    type,
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`,
    lasting: false,
    gzipped: () => {
      gzipped ??= promisify(gzip)(bytes, { level: 9 });
      return gzipped;
    },
  };
}
