/**
 * Names on disk are bytes. Inside this folder they are strings with one character per byte (latin1), which cost nothing to
 * compare; callers get text, and the bytes where these are not UTF-8.
 */
import { isUtf8 } from 'node:buffer';
import type { CapturedPath } from '../../captures.ts';

const ASCII = /^[\x00-\x7f]*$/;

export function isAscii(bytes: string): boolean {
  return ASCII.test(bytes);
}

export function toCapturedPath(bytes: string): CapturedPath {
  const { text, base64 } = decode(bytes);
  return base64 === undefined ? { path: text } : { path: text, path_bytes: base64 };
}

export function toTarget(bytes: string): { target: string; target_bytes?: string } {
  const { text, base64 } = decode(bytes);
  return base64 === undefined ? { target: text } : { target: text, target_bytes: base64 };
}

export function fromCapturedPath({ path, path_bytes: bytes }: CapturedPath): string {
  if (bytes !== undefined) return Buffer.from(bytes, 'base64').toString('latin1');
  return isAscii(path) ? path : Buffer.from(path).toString('latin1');
}

function decode(bytes: string): { text: string; base64?: string } {
  if (isAscii(bytes)) return { text: bytes };
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString();
  return isUtf8(buffer) ? { text } : { text, base64: buffer.toString('base64') };
}
