/** Archives of the usual programs are unpacked, and those of an attacker refused. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import type { TreeEntry } from '@talaria/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ArchiveSource } from './archive-entry.ts';
import { checkedEntries } from './checked-entries.ts';
import { openArchive } from './open-archive.ts';

const LIMITS = { maxEntries: 1000, maxBytes: 10_000_000 };

/** In pieces of uneven length, as a store gives them. */
function sourceOf(bytes: Buffer): ArchiveSource {
  return {
    size: bytes.length,
    async *read(start, end) {
      if (end > bytes.length) throw new Error('a reader asks for more than there is');
      for (let at = start; at < end; at += 777) yield bytes.subarray(at, Math.min(at + 777, end));
    },
  };
}

interface Unpacked {
  type: TreeEntry['type'];
  mode: string;
  content: string;
  modifiedMs: number;
}

async function unpack(archive: Buffer, { into = '.', limits = LIMITS } = {}): Promise<Map<string, Unpacked>> {
  const found = new Map<string, Unpacked>();
  const entries = checkedEntries(openArchive(sourceOf(archive), limits), into, limits);
  for await (const { name, type, mode, size, modifiedMs, content } of entries) {
    const pieces: Buffer[] = [];
    for await (const piece of content()) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const path = name.toString('latin1');
    if (bytes.length !== size || found.has(path)) throw new Error(`${path} has another size, or comes twice`);
    found.set(path, { type, mode: mode.toString(8), content: bytes.toString('latin1'), modifiedMs });
  }
  return found;
}

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'talaria-archives-'));
  const tree = join(dir, 'tree');
  mkdirSync(join(tree, 'deep/er'), { recursive: true });
  writeFileSync(join(tree, 'file'), 'hello\n');
  writeFileSync(join(tree, 'deep/er/run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(tree, 'empty'), '');
  writeFileSync(join(tree, 'large'), Buffer.alloc(300_000, 'abc'));
  writeFileSync(join(tree, `${'long-'.repeat(45)}name`), 'long');
  writeFileSync(join(tree, 'ünï'), 'unicode');
  symlinkSync('deep/er', join(tree, 'link'));
  utimesSync(join(tree, 'file'), 1_500_000_000, 1_500_000_000);
});
afterAll(() => rmSync(dir, { recursive: true }));

function tar(...args: string[]): Buffer {
  return execFileSync('tar', ['-C', join(dir, 'tree'), '-cf', '-', ...args, '.'], { maxBuffer: 1e8 });
}

function expectTree(found: Map<string, Unpacked>, prefix = ''): void {
  const at = (name: string) => found.get(prefix + Buffer.from(name).toString('latin1'));
  expect(at('file')).toMatchObject({ type: 'file', mode: '644', content: 'hello\n' });
  expect(at('deep/er')).toMatchObject({ type: 'directory', mode: '755' });
  expect(at('deep/er/run.sh')).toMatchObject({ type: 'file', mode: '755' });
  expect(at('empty')).toMatchObject({ type: 'file', content: '' });
  expect(at('large')?.content).toHaveLength(300_000);
  expect(at(`${'long-'.repeat(45)}name`)).toMatchObject({ content: 'long' });
  expect(at('ünï')).toMatchObject({ content: 'unicode' });
}

describe('a tar', () => {
  it.each(['gnu', 'pax', 'posix', 'ustar'])('in the format %s is unpacked, packed or not', async (format) => {
    const args = [`--format=${format}`, ...(format === 'ustar' ? ['--exclude=long-*'] : [])];
    for (const archive of [tar(...args), tar('-z', ...args)]) {
      const found = await unpack(archive);
      if (format === 'ustar') found.set(`${'long-'.repeat(45)}name`, { content: 'long' } as Unpacked);
      expectTree(found);
      expect(found.get('link')).toMatchObject({ type: 'symlink', content: 'deep/er' });
      expect(found.get('file')?.modifiedMs).toBe(1_500_000_000_000);
    }
  });

  it('is unpacked below a directory, which comes first', async () => {
    const found = await unpack(tar(), { into: 'a/b' });
    expect([...found.keys()].slice(0, 2)).toEqual(['a', 'a/b']);
    expectTree(found, 'a/b/');
  });

  it('keeps names that are not UTF-8, and makes the directories that it does not name', async () => {
    const name = Buffer.from([0x64, 0x2f, 0xff, 0xfe]);
    const found = await unpack(tarOf({ name, content: 'x' }));
    expect([...found.keys()]).toEqual(['d', 'd/\xff\xfe']);
  });

  it('takes away permissions that change a user, and gives the owner theirs', async () => {
    const found = await unpack(
      Buffer.concat([part({ name: 'f', mode: 0o4000 }), part({ name: 'd/', type: '5', mode: 0 }), END]),
    );
    expect(found.get('f')?.mode).toBe('600');
    expect(found.get('d')?.mode).toBe('700');
  });

  it('may have no end, and garbage behind it', async () => {
    expect([...(await unpack(part({ name: 'f', content: 'x' }))).keys()]).toEqual(['f']);
    expect([...(await unpack(Buffer.concat([part({ name: 'f' }), END, Buffer.from('x')]))).keys()]).toEqual([
      'f',
    ]);
    expect((await unpack(END)).size).toBe(0);
  });

  const link = (name: string, target: string) => part({ name, type: '2', target });
  it.each<[string, Buffer[], RegExp]>([
    ['..', [part({ name: '../out' })], /'\.\.' in its path/],
    ['.. in the middle', [part({ name: 'a/../../out' })], /'\.\.'/],
    ['an absolute path', [part({ name: '/etc/passwd' })], /absolute/],
    ['an absolute path in a pax header', [pax({ path: '/etc/passwd' }), part({ name: 'x' })], /absolute/],
    [
      '.. in a GNU header',
      [part({ name: 'L', type: 'L', content: '../out\0' }), part({ name: 'x' })],
      /'\.\.'/,
    ],
    ['no name', [part({ name: './', type: '0' }), part({ name: '', type: '0' })], /no name/],
    ['a link out', [link('l', '../out')], /leads out of the workspace/],
    ['a link out by a detour', [link('d/l', 'x/../../../out')], /leads out/],
    ['an absolute link', [link('l', '/etc')], /absolute path/],
    ['an empty link', [link('l', '')], /no valid target/],
    ['a file through a link', [link('l', 'd'), part({ name: 'l/f' })], /below the link "l"/],
    ['a directory through a link', [link('l', 'd'), part({ name: 'l/', type: '5' })], /twice/],
    ['a file below a file', [part({ name: 'f' }), part({ name: 'f/g' })], /below the file "f"/],
    ['a file in place of a link', [link('l', 'd'), part({ name: './l' })], /twice/],
    ['a file twice', [part({ name: 'f' }), part({ name: './/f' })], /twice/],
    ['a hard link', [part({ name: 'f' }), part({ name: 'h', type: '1', target: 'f' })], /hard link/],
    ['a hard link out', [part({ name: 'h', type: '1', target: '/etc/shadow' })], /hard link/],
    ['a character device', [part({ name: 'n', type: '3' })], /device/],
    ['a block device', [part({ name: 'n', type: '4' })], /device/],
    ['a FIFO', [part({ name: 'n', type: '6' })], /FIFO/],
    ['a sparse file', [part({ name: 'n', type: 'S' })], /sparse/],
    ['a sparse file in pax', [pax({ 'GNU.sparse.major': '1' }), part({ name: 'x' })], /sparse/],
    ['a name that is too long', [pax({ path: 'x'.repeat(256) }), part({ name: 'x' })], /too long/],
    ['a path that is too deep', [pax({ path: 'd/'.repeat(101) }), part({ name: 'x' })], /too deep/],
    ['a NUL in its name', [pax({ path: 'a\0b' }), part({ name: 'x' })], /NUL/],
    ['a size that is no number', [pax({ size: 'many' }), part({ name: 'x' })], /size/],
    [
      'a negative size',
      [part({ name: 'x', size: Buffer.from(`\xff${'\xff'.repeat(11)}`, 'latin1') })],
      /size/,
    ],
    ['a huge size', [pax({ size: '999999999999999' }), part({ name: 'x' })], /more than 10000000 bytes/],
    ['a huge header', [part({ name: 'x', type: 'x', size: 9e9 })], /header of it has 9000000000 bytes/],
    ['a damaged header', [Buffer.alloc(512, 7)], /neither a tar, a tar\.gz nor a zip/],
    ['a damaged pax header', [part({ name: 'p', type: 'x', content: '99 path=x\n' })], /damaged/],
    ['a second damaged header', [part({ name: 'f' }), Buffer.alloc(512, 7)], /damaged/],
    [
      'an end in the middle of a file',
      [part({ name: 'f', size: 1000 }), Buffer.from('x')],
      /middle of an entry/,
    ],
    ['an end in the middle of a header', [part({ name: 'f' }).subarray(0, 100)], /middle of an entry/],
  ])('with %s is refused', async (_, parts, message) => {
    const archive = Buffer.concat([...parts, ...(parts.at(-1)!.length % 512 === 0 ? [END] : [])]);
    await expect(unpack(archive)).rejects.toThrow(message);
    await expect(unpack(gzipSync(archive))).rejects.toThrow(message);
  });

  it('with more entries or bytes than allowed is refused, also if only directories are implied', async () => {
    const many = Buffer.concat([...Array(11).keys()].map((i) => part({ name: `f${i}` })));
    await expect(unpack(many, { limits: { maxEntries: 10, maxBytes: 1 } })).rejects.toThrow(
      /more than 10 entries/,
    );
    const deep = part({ name: 'a/b/c/d' });
    await expect(unpack(deep, { limits: { maxEntries: 3, maxBytes: 1 } })).rejects.toThrow(
      /more than 3 entries/,
    );
    const bomb = gzipSync(Buffer.concat([part({ name: 'f', content: '0'.repeat(50_000) }), END]));
    await expect(unpack(bomb, { limits: { maxEntries: 3, maxBytes: 49_999 } })).rejects.toThrow(
      /49999 bytes/,
    );
    const headers = Buffer.concat(Array(100).fill(pax({ comment: 'x'.repeat(1000) })));
    await expect(unpack(gzipSync(headers), { limits: { maxEntries: 3, maxBytes: 1 } })).rejects.toThrow(
      /1 bytes/,
    );
  });

  it('whose compression is damaged or cut off is refused', async () => {
    const packed = tar('-z');
    await expect(unpack(packed.subarray(0, -20))).rejects.toThrow(/damaged or incomplete|middle/);
    await expect(unpack(Buffer.concat([packed.subarray(0, 100), Buffer.alloc(50)]))).rejects.toThrow(
      /damaged/,
    );
  });
});

describe('a zip', () => {
  const hasPython = spawnSync('python3', ['-c', 'import zipfile']).status === 0;
  const python = (code: string) => {
    const path = join(dir, 'made.zip');
    execFileSync('python3', ['-c', code], { cwd: dir, env: { ...process.env, OUT: path } });
    return readFileSync(path);
  };

  it.skipIf(spawnSync('zip', ['-v']).status !== 0)('of Info-ZIP is unpacked, with links', async () => {
    execFileSync('zip', ['-qry', join(dir, 'info.zip'), '.'], { cwd: join(dir, 'tree') });
    const found = await unpack(readFileSync(join(dir, 'info.zip')));
    expectTree(found);
    expect(found.get('link')).toMatchObject({ type: 'symlink', content: 'deep/er' });
  });

  it.skipIf(!hasPython)(
    'of Python is unpacked: stored, deflated, in the large form, with a comment',
    async () => {
      const found = await unpack(
        python(`
import os, zipfile
with zipfile.ZipFile(os.environ['OUT'], 'w') as z:
  z.comment = b'PK\\x05\\x06 looks like an end'
  z.writestr('stored', 'one')
  z.writestr('d/deflated', 'two' * 1000, zipfile.ZIP_DEFLATED)
  with z.open(zipfile.ZipInfo('large'), 'w', force_zip64=True) as f: f.write(b'three')
`),
      );
      expect(found.get('stored')).toMatchObject({ type: 'file', content: 'one' });
      expect(found.get('d/deflated')?.content).toBe('two'.repeat(1000));
      expect(found.get('large')?.content).toBe('three');
    },
  );

  it.skipIf(!hasPython)(
    'with more entries than 16 bits can count is unpacked',
    { tags: ['soak'] },
    async () => {
      const archive = python(`
import os, zipfile
with zipfile.ZipFile(os.environ['OUT'], 'w') as z:
  for i in range(66000): z.writestr(str(i), '')
`);
      const limits = { maxEntries: 70_000, maxBytes: 1 };
      expect((await unpack(archive, { limits })).size).toBe(66_000);
      await expect(unpack(archive)).rejects.toThrow('it has more than 1000 entries');
    },
  );

  it('may be empty', async () => {
    expect((await unpack(zipOf())).size).toBe(0);
  });

  it.each<[string, ZipPart, RegExp]>([
    ['..', { name: '../x' }, /'\.\.'/],
    ['an absolute path', { name: '/x' }, /absolute/],
    ['a link out', { name: 'l', mode: 0o120777, content: '../x' }, /leads out/],
    ['a long link', { name: 'l', mode: 0o120777, content: 'x'.repeat(5000) }, /target of 5000 bytes/],
    ['a device', { name: 'n', mode: 0o020666 }, /device/],
    ['a FIFO', { name: 'n', mode: 0o010666 }, /FIFO/],
    ['encryption', { name: 'n', flags: 1 }, /encrypted/],
    ['an unknown compression', { name: 'n', method: 12 }, /method 12/],
    ['a wrong checksum', { name: 'n', content: 'x', crc: 1 }, /damaged/],
    ['more content than it says', { name: 'n', content: 'xyz', size: 2 }, /damaged/],
    ['less content than it says', { name: 'n', content: 'xyz', size: 4 }, /damaged/],
    ['content that overlaps the directory', { name: 'n', content: 'xyz', compressedSize: 50 }, /overlaps/],
    ['another name in front of its content', { name: 'n', content: 'x', localName: 'm' }, /another name/],
    ['an offset behind its end', { name: 'n', content: 'x', offset: 1_000_000 }, /damaged/],
    ['an offset to something else', { name: 'n', content: 'x', offset: 36 }, /damaged/],
    [
      'a password that only its header names',
      { name: 'n', local: { flags: 1 } },
      /differently by the header/,
    ],
    ['strong encryption', { name: 'n', flags: 0x40 }, /encrypted/],
    ['an encrypted directory', { name: 'n', flags: 0x2000 }, /encrypted/],
    ['another method in its header', { name: 'n', content: 'x', local: { method: 8 } }, /by the header/],
    ['another checksum in its header', { name: 'n', content: 'x', local: { crc: 1 } }, /by the header/],
    ['another size in its header', { name: 'n', content: 'xyz', local: { size: 2 } }, /by the header/],
    [
      'a size that its header leaves to a field without it',
      { name: 'n', local: { size: 0xffffffff } },
      /directory/,
    ],
    ['bytes behind its compressed content', { name: 'n', content: 'xyz', method: 8, behind: 'x' }, /damaged/],
    ['a directory with content', { name: 'd/', content: 'x' }, /directory "d\/" has content/],
    ['a directory with another name in front of it', { name: 'd/', localName: 'e/' }, /another name/],
    ['a directory that overlaps', { name: 'd/', compressedSize: 50 }, /overlaps/],
    ['damaged compression', { name: 'n', content: 'xyz', method: 8, raw: true }, /damaged/],
  ])('with %s is refused', async (_, entry, message) => {
    await expect(unpack(zipOf({ name: 'first' }, entry))).rejects.toThrow(message);
  });

  it('whose entries share their content is refused', async () => {
    const bomb = zipOf({ name: 'a', content: 'x' }, { name: 'b', content: 'x', offset: 0, localName: 'a' });
    await expect(unpack(bomb)).rejects.toThrow(/overlaps|another name/);
  });

  it('that unpacks to too much is refused before it is unpacked', async () => {
    const content = '0'.repeat(2_000_000);
    const bomb = zipOf({ name: 'f', content, method: 8 });
    expect(bomb.length).toBeLessThan(5000);
    await expect(unpack(bomb, { limits: { maxEntries: 9, maxBytes: 1_999_999 } })).rejects.toThrow(
      /1999999 bytes/,
    );
    expect((await unpack(bomb)).get('f')?.content).toBe(content);
  });

  it('whose numbers follow the content is unpacked', async () => {
    const streamed = zipOf({ name: 'a', content: 'x', local: { flags: 8, crc: 0, size: 0 } });
    expect((await unpack(streamed)).get('a')?.content).toBe('x');
  });

  describe('whose end lies is refused', () => {
    const good = zipOf({ name: 'a', content: 'x' }, { name: 'b', content: 'y' });
    const end = good.length - 22;
    const start = good.readUInt32LE(end + 16);
    const changed = (change: (bytes: Buffer) => void) => {
      const bytes = Buffer.from(good);
      change(bytes);
      return bytes;
    };
    const cut = (at: number, ...between: Buffer[]) =>
      Buffer.concat([good.subarray(0, at), ...between, good.subarray(at)]);
    /** What the large form adds in front of the end. */
    const large = (
      numbers: Partial<Record<'entries' | 'size' | 'start' | 'length', number>> = {},
      gap = 0,
    ) => {
      const [record, locator] = [Buffer.alloc(56), Buffer.alloc(20)];
      const { entries = 2, size = end - start, start: from = start, length = 44 } = numbers;
      record.writeUInt32LE(0x06064b50, 0);
      for (const [at, value] of [
        [4, length],
        [24, entries],
        [32, entries],
        [40, size],
        [48, from],
      ] as const) {
        record.writeBigUInt64LE(BigInt(value), at);
      }
      locator.writeUInt32LE(0x07064b50, 0);
      locator.writeBigUInt64LE(BigInt(end + gap), 8);
      return cut(end, Buffer.alloc(gap), record, locator);
    };

    it.each<[string, () => Buffer]>([
      ['with fewer entries than there are', () => changed((bytes) => bytes.writeUInt16LE(1, end + 10))],
      ['with fewer entries on this disk', () => changed((bytes) => bytes.writeUInt16LE(1, end + 8))],
      [
        'with fewer entries in both places',
        () =>
          changed((bytes) => {
            bytes.writeUInt16LE(1, end + 8);
            bytes.writeUInt16LE(1, end + 10);
          }),
      ],
      ['on another disk', () => changed((bytes) => bytes.writeUInt16LE(1, end + 4))],
      ['with something between the directory and it', () => cut(end, Buffer.from('PK\x01\x02'))],
      ['with something behind it', () => Buffer.concat([good, Buffer.from('x')])],
      ['with other entries in the large form', () => large({ entries: 1 })],
      ['with another size in the large form', () => large({ size: end - start - 1 })],
      ['with another place in the large form', () => large({ start: start + 1 })],
      ['with a large form that is longer than it is', () => large({ length: 45 })],
      ['with something between the directory and the large form', () => large({}, 3)],
    ])('%s', async (_, bytes) => {
      await expect(unpack(bytes())).rejects.toThrow(/without a valid directory/);
    });

    it('but not where the large form says the same', async () => {
      expect([...(await unpack(large())).keys()]).toEqual(['a', 'b']);
      const saturated = large();
      saturated.writeUInt32LE(0xffffffff, saturated.length - 6);
      expect([...(await unpack(saturated)).keys()]).toEqual(['a', 'b']);
    });
  });

  it('with something in front of its first entry is refused', async () => {
    const first = zipOf({ name: 'hidden', content: 'x' });
    const second = zipOf({ name: 'a', content: 'x', offset: first.length });
    second.writeUInt32LE(second.readUInt32LE(second.length - 6) + first.length, second.length - 6);
    await expect(unpack(Buffer.concat([first, second]))).rejects.toThrow(/in front of its first entry/);
  });

  it('without a directory, or with one that lies, is refused', async () => {
    const good = zipOf({ name: 'a', content: 'x' });
    for (const bad of [
      good.subarray(0, -1),
      good.subarray(0, 20),
      Buffer.from('PK'),
      Buffer.from('PK\x03\x04'),
    ]) {
      await expect(unpack(bad)).rejects.toThrow(/without a valid directory/);
    }
    const lying = Buffer.from(good);
    lying.writeUInt16LE(2, lying.length - 12);
    await expect(unpack(lying)).rejects.toThrow(/without a valid directory/);
  });
});

it.each([Buffer.alloc(0), Buffer.from('x'), Buffer.from('not an archive at all')])(
  'bytes that are no archive are refused, but nothing at all is an empty tar',
  async (bytes) => {
    if (bytes.length === 0) expect((await unpack(bytes)).size).toBe(0);
    else await expect(unpack(bytes)).rejects.toThrow();
  },
);

const END = Buffer.alloc(1024);

interface TarPart {
  name: string | Buffer;
  type?: string;
  content?: string;
  size?: number | Buffer;
  mode?: number;
  target?: string;
}

function tarOf(entry: TarPart): Buffer {
  return Buffer.concat([part(entry), END]);
}

function part({
  name,
  type = '0',
  content = '',
  size = content.length,
  mode = 0o644,
  target = '',
}: TarPart): Buffer {
  const header = Buffer.alloc(512);
  header.set(Buffer.from(name), 0);
  header.write(`${mode.toString(8).padStart(7, '0')}\0`, 100);
  if (typeof size === 'number') header.write(`${size.toString(8).padStart(11, '0')} `, 124);
  else size.copy(header, 124);
  header.write('00000000000 ', 136);
  header.write(type, 156);
  header.write(target, 157);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padded = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  padded.write(content, 'latin1');
  return Buffer.concat([header, padded]);
}

function pax(fields: Record<string, string>): Buffer {
  const lines = Object.entries(fields).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = rest.length + 1;
    while (`${length}`.length + rest.length !== length) length++;
    return `${length}${rest}`;
  });
  return part({ name: 'pax', type: 'x', content: lines.join('') });
}

interface ZipPart {
  name: string;
  content?: string;
  mode?: number;
  flags?: number;
  method?: number;
  /** Do not compress the content, whatever the method says. */
  raw?: boolean;
  crc?: number;
  size?: number;
  compressedSize?: number;
  localName?: string;
  offset?: number;
  /** What the header in front of the content says, where that is something else. */
  local?: { flags?: number; method?: number; crc?: number; size?: number };
  /** Behind the compressed content, and counted as a part of it. */
  behind?: string;
}

function zipOf(...parts: ZipPart[]): Buffer {
  const [locals, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const given of parts) {
    const { name, content = '', mode = 0o100644, flags = 0, method = 0, raw = false } = given;
    const packed = method === 8 && !raw ? deflateRawSync(content) : Buffer.from(content);
    const data = Buffer.concat([packed, Buffer.from(given.behind ?? '')]);
    const local = Buffer.alloc(30);
    const localName = Buffer.from(given.localName ?? name);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(given.local?.flags ?? flags, 6);
    local.writeUInt16LE(given.local?.method ?? method, 8);
    local.writeUInt32LE(given.local?.crc ?? given.crc ?? crc32(content), 14);
    local.writeUInt32LE(given.compressedSize ?? data.length, 18);
    local.writeUInt32LE(given.local?.size ?? given.size ?? content.length, 22);
    local.writeUInt16LE(localName.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry[5] = 3;
    entry.writeUInt16LE(flags, 8);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(given.crc ?? crc32(content), 16);
    entry.writeUInt32LE(given.compressedSize ?? data.length, 20);
    entry.writeUInt32LE(given.size ?? content.length, 24);
    entry.writeUInt16LE(Buffer.byteLength(name), 28);
    entry.writeUInt32LE((mode << 16) >>> 0, 38);
    entry.writeUInt32LE(given.offset ?? at, 42);
    locals.push(local, localName, data);
    directory.push(entry, Buffer.from(name));
    at += 30 + localName.length + data.length;
  }
  const size = directory.reduce((total, { length }) => total + length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...locals, ...directory, end]);
}
