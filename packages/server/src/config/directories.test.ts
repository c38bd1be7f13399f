import { describe, expect, it } from 'vitest';
import { directories, directoryProblems } from './directories.ts';

const CONTEXT = { homeDir: '/', baseDir: '/', env: {} };
const read = (json: unknown) => directories().fromJson(json, CONTEXT);

describe('the setting directories', () => {
  it('is an object of directories, from text and from JSON', () => {
    const given = { app: { path: '/srv//app' }, live: { path: '/srv/live', mode: 'mount', keys: ['ada'] } };
    const value = [
      { name: 'app', path: '/srv/app', mode: 'copy', keys: undefined },
      { name: 'live', path: '/srv/live', mode: 'mount', keys: ['ada'] },
    ];
    expect(read(given)).toEqual({ value });
    expect(directories().fromText(JSON.stringify(given), CONTEXT)).toEqual({ value });
    expect(JSON.parse(directories().format(value as never))).toMatchObject({ app: { path: '/srv/app' } });
  });

  it.each<[unknown, string]>([
    [[], ''],
    [{ '../x': { path: '/srv' } }, '"../x" must be a name'],
    [{ a: '/srv' }, '"a" must be an object'],
    [{ a: { path: 'srv' } }, '"a" needs a \'path\' that is absolute'],
    [{ a: {} }, '"a" needs a \'path\' that is absolute'],
    [{ a: { path: '/srv', mode: 'link' } }, 'neither copy nor mount'],
    [{ a: { path: '/srv', keys: 'ada' } }, "has 'keys' that are no list"],
    [{ a: { path: '/srv', pth: 1 } }, 'unknown field "pth"'],
  ])('refuses %j', (json, reason) => {
    expect(read(json)).toEqual({ refused: expect.stringContaining(reason) });
  });

  it('is refused as text that is not JSON', () => {
    expect(directories().fromText('{', CONTEXT)).toEqual({ refused: 'it is not valid JSON' });
  });

  const circumstances = { dataDir: '/data/talaria', keys: ['ada'] };
  it.each([
    ['/data/talaria', /overlaps the data directory/],
    ['/data', /overlaps/],
    ['/', /overlaps/],
    ['/data/talaria/workspaces', /overlaps/],
  ])('may not overlap the data directory: %s', (path, problem) => {
    const list = [{ name: 'a', path, mode: 'copy' as const, keys: undefined }];
    expect(directoryProblems(list, circumstances)).toEqual([expect.stringMatching(problem)]);
  });

  it('names keys that exist, and mounts nothing so far', () => {
    const one = (fields: object) => [
      { name: 'a', path: '/srv', mode: 'copy' as const, keys: undefined, ...fields },
    ];
    expect(directoryProblems(one({ path: '/data/talaria-2' }), circumstances)).toEqual([]);
    expect(directoryProblems(one({ keys: ['eve'] }), circumstances)).toEqual([
      expect.stringContaining('"eve"'),
    ]);
    const mount = one({ mode: 'mount' });
    expect(directoryProblems(mount, circumstances)).toEqual([expect.stringContaining('use copy')]);
  });
});
