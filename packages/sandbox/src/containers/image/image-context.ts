/**
 * The program inside as part of an image, for containers that cannot mount it from this machine: what `docker build`
 * needs, as a tar. The image is its base and one directory more, so any image with glibc, libstdc++ and a shell will do.
 *
 *   /talaria/sandbox-server   starts the program (server/main.ts): with its configuration, or as `relay <socket>`
 *   /talaria/node             this very Node
 *   /talaria/sandbox/         this package
 *
 * The two ends of a container have to be of one version; the program refuses another (`ContainerServerConfig.version`).
 */
import { glob, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ArchiveEntry } from '../../workspace/artifacts/archive-entry.ts';
import { tar } from '../../workspace/artifacts/tar.ts';
import { SERVER_PROGRAM } from '../server-program.ts';

/** The path of the program in such an image. */
export const IMAGE_PROGRAM = '/talaria/sandbox-server';

const LAUNCHER = `#!/bin/sh
NODE_OPTIONS= exec /talaria/node /talaria/sandbox/${SERVER_PROGRAM.entry} "$@"
`;

/** `base` is the name of an image. */
export function imageContext(base: string): Readable {
  return Readable.from(tar(entries(base)), { objectMode: false });
}

async function* entries(base: string): AsyncGenerator<ArchiveEntry, void> {
  yield textEntry('Dockerfile', 0o644, `FROM ${base}\nCOPY talaria /talaria\n`);
  yield textEntry('talaria/sandbox-server', 0o755, LAUNCHER);
  yield await fileEntry('talaria/node', SERVER_PROGRAM.nodePath);
  for (const path of await packageFiles())
    yield await fileEntry(`talaria/sandbox/${path}`, join(SERVER_PROGRAM.packageDir, path));
}

/** In a fixed order, so that the same version makes the same image. */
async function packageFiles(): Promise<string[]> {
  const top = SERVER_PROGRAM.entry.split('/')[0];
  const found: string[] = [];
  for await (const path of glob(`${top}/**/*.{ts,js}`, { cwd: SERVER_PROGRAM.packageDir }))
    if (!/\.test\.ts$|\.d\.ts$|\/testing\//.test(path)) found.push(path);
  return ['package.json', ...found.sort()];
}

function textEntry(name: string, mode: number, text: string): ArchiveEntry {
  const bytes = Buffer.from(text);
  return entry(name, mode, bytes.length, async function* () {
    yield bytes;
  });
}

async function fileEntry(name: string, path: string): Promise<ArchiveEntry> {
  const { size, mode } = await stat(path);
  return entry(name, mode | 0o444, size, async function* () {
    await using file = await open(path);
    yield* file.createReadStream({ autoClose: false, end: size - 1 }) as AsyncIterable<Buffer>;
  });
}

function entry(name: string, mode: number, size: number, content: ArchiveEntry['content']): ArchiveEntry {
  return { name: Buffer.from(name), type: 'file', size, mode, modifiedMs: 0, content };
}
