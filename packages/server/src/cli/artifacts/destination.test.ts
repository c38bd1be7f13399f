import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chooseDestination, isSafeName, nameOf, refuseExisting } from './destination.ts';

function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('a name from a workspace', () => {
  it.each(['report.pdf', '.env', 'ünïcode 世界.txt', 'a b', 'x'.repeat(255), 'console.log'])(
    '%j is safe',
    (name) => {
      expect(isSafeName(name)).toBe(true);
    },
  );

  it.each([
    '',
    '.',
    '..',
    'a/b',
    'a\\b',
    'C:x',
    '-rf',
    'a\nb',
    'a\tb',
    '\x1b[2J',
    'gpj.\u202eexe',
    'a\u200bb',
    'NUL',
    'com1.txt',
    'bad\ufffdbytes',
    'x'.repeat(256),
    '世'.repeat(86),
  ])('%j is not', (name) => {
    expect(isSafeName(name)).toBe(false);
    expect(() => chooseDestination(name, undefined, '/')).toThrow(/not a safe file name/);
  });

  it.each([
    ['out/report.pdf', 'report.pdf'],
    ['out/', 'out'],
    ['/workspace/x', 'x'],
    ['', undefined],
    ['.', undefined],
    ['a/..', '..'],
  ])('of %j is %j', (path, name) => {
    expect(nameOf(path)).toBe(name);
  });
});

describe('the destination', () => {
  it('is the given path, unchanged', () => {
    expect(chooseDestination('..', '../elsewhere/-x', '/')).toBe('../elsewhere/-x');
  });

  it('is in the given directory', () => {
    const directory = temporaryDirectory();
    expect(chooseDestination('a.txt', directory, '/')).toBe(join(directory, 'a.txt'));
    expect(chooseDestination('a.txt', 'missing/', '/')).toBe(join('missing', 'a.txt'));
    expect(() => chooseDestination('..', directory, '/')).toThrow(/not a safe file name/);
  });

  it('must not exist, not even as a dangling link', () => {
    const directory = temporaryDirectory();
    symlinkSync('nowhere', join(directory, 'link'));
    mkdirSync(join(directory, 'd'));
    for (const name of ['link', 'd'])
      expect(() => refuseExisting(join(directory, name), name)).toThrow(/exists; --force/);
    refuseExisting(join(directory, 'free'), 'free');
  });
});
