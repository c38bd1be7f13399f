/**
 * Reads a window of lines out of a file of any size, in bounded memory and time: lines are counted to the end only if
 * the file is small enough.
 */
import type { FileHandle } from 'node:fs/promises';
import { completeLength } from './utf8.ts';

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export interface LineWindow {
  /** Number of the first line wanted, from 1. */
  firstLine: number;
  maxLines: number;
  maxBytes: number;
  /** After this many bytes the search for the window, and the counting after it, gives up. */
  maxScanBytes: number;
}

export interface Lines {
  text: string;
  /** Lines in `text`, including a last one without its end. */
  lineCount: number;
  /** Lines in the file, if it was read to its end. */
  totalLines: number | undefined;
  /** The text stops in the middle of a line because of `maxBytes`. */
  cutInLine: boolean;
  /** The window was found before `maxScanBytes` were read. */
  reached: boolean;
}

export async function readLines(file: FileHandle, window: LineWindow): Promise<Lines> {
  const parts: Buffer[] = [];
  const lastLine = window.firstLine + window.maxLines - 1;
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let line = 1;
  let keptBytes = 0;
  let full = false;
  let position = 0;
  let endsWithNewline = true;
  let atEnd = false;

  while (position < window.maxScanBytes) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) {
      atEnd = true;
      break;
    }
    position += bytesRead;
    endsWithNewline = buffer[bytesRead - 1] === NEWLINE;
    for (let at = 0; at < bytesRead; ) {
      const newline = buffer.indexOf(NEWLINE, at);
      const end = newline === -1 || newline >= bytesRead ? bytesRead : newline + 1;
      if (line >= window.firstLine && line <= lastLine && !full) {
        const part = buffer.subarray(at, Math.min(end, at + window.maxBytes - keptBytes));
        parts.push(Buffer.from(part));
        keptBytes += part.length;
        full = part.length < end - at;
      }
      if (end === newline + 1) line++;
      at = end;
    }
  }

  const bytes = Buffer.concat(parts);
  const kept = full ? cutBetweenLines(bytes) : bytes;
  return {
    text: kept.toString('utf8'),
    lineCount: countLines(kept),
    totalLines: atEnd ? (endsWithNewline ? line - 1 : line) : undefined,
    cutInLine: full && kept.at(-1) !== NEWLINE,
    reached: line >= window.firstLine || atEnd,
  };
}

/** After the last whole line, so that continuing with the next one misses nothing; a single longer line is cut. */
function cutBetweenLines(bytes: Buffer): Buffer {
  const lastNewline = bytes.lastIndexOf(NEWLINE);
  return bytes.subarray(0, lastNewline === -1 ? completeLength(bytes) : lastNewline + 1);
}

function countLines(bytes: Buffer): number {
  let count = bytes.length > 0 && bytes.at(-1) !== NEWLINE ? 1 : 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}
