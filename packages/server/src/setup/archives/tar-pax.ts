/** The pax header of a tar: fields that replace those of the next entry, as lines of `length key=value`. */
import { ArchiveError } from './archive-entry.ts';

export interface Overrides {
  name?: Buffer;
  linkName?: Buffer;
  size?: number;
  modifiedS?: number;
  sparse?: true;
}

export const NO_OVERRIDES: Overrides = {};

const [SPACE, EQUALS, NEWLINE] = [0x20, 0x3d, 0x0a];

export function parsePax(content: Buffer): Overrides {
  const overrides: Overrides = {};
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(SPACE, at);
    const digits = space === -1 ? '' : content.toString('latin1', at, space);
    const end = at + Number(digits);
    const isLine = /^[1-9]\d{0,6}$/.test(digits) && end <= content.length && content[end - 1] === NEWLINE;
    const equals = isLine ? content.indexOf(EQUALS, space) : -1;
    if (equals === -1 || equals >= end) throw new ArchiveError('a header of it is damaged');
    const key = content.toString('latin1', space + 1, equals);
    Object.assign(overrides, toOverride(key, Buffer.from(content.subarray(equals + 1, end - 1))));
    at = end;
  }
  return overrides;
}

function toOverride(key: string, value: Buffer): Overrides {
  if (key.startsWith('GNU.sparse.')) return { sparse: true };
  switch (key) {
    case 'path':
      return { name: value };
    case 'linkpath':
      return { linkName: value };
    case 'size':
      return { size: decimal(value) };
    case 'mtime':
      return { modifiedS: Number(value.toString('latin1')) || 0 };
    default:
      return {};
  }
}

function decimal(value: Buffer): number {
  const digits = value.toString('latin1');
  return /^\d{1,15}$/.test(digits) ? Number(digits) : -1;
}
