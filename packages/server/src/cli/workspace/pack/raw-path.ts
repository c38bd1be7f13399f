/**
 * Paths below a directory of this machine, relative to it and with `/`. File systems allow any bytes in a name, so each
 * character of a raw path is one byte.
 */
export type RawPath = string;

export function toRaw(bytes: Buffer): RawPath {
  return bytes.toString('latin1');
}

export function bytesOf(path: RawPath): Buffer {
  return Buffer.from(path, 'latin1');
}

/** For people: bytes that are not UTF-8 become U+FFFD. */
export function textOf(path: RawPath): string {
  return bytesOf(path).toString('utf8');
}

/** For node:fs. */
export function inside(directory: string, path: RawPath): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), bytesOf(path)]);
}

export function joined(path: RawPath, name: RawPath): RawPath {
  return path === '' || name === '' ? path + name : `${path}/${name}`;
}
