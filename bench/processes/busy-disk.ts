/**
 * Another user of the disk: while it is switched on, it repeatedly writes a megabyte and waits until that is on disk.
 */
import { fdatasyncSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { listen } from './listen.ts';

const [directory = '.'] = process.argv.slice(2);
const PIECE = Buffer.alloc(1_000_000, 'x');
const FILE_PIECES = 32;

const path = join(directory, 'busy');
const file = openSync(path, 'w');
unlinkSync(path);
let busy = false;
let piece = 0;

function work(): void {
  if (!busy) return;
  writeSync(file, PIECE, 0, PIECE.length, (piece++ % FILE_PIECES) * PIECE.length);
  fdatasyncSync(file);
  setImmediate(work);
}

process.on('message', (wanted: boolean) => {
  busy = wanted;
  work();
});
listen(createServer());
