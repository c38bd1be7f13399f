import { describe, expect, it } from 'vitest';
import { type DirectoryCircumstances, directoryProblems } from './directory-rules.ts';
import { load } from './testing/load.ts';

describe('a directory of the operator', () => {
  const circumstances: DirectoryCircumstances = {
    dataDir: '/data/talaria',
    keys: ['ada'],
    backend: 'local',
    isShared: false,
    configFile: undefined,
  };
  it.each([
    ['/data/talaria', /overlaps the data directory/],
    ['/data', /overlaps/],
    ['/', /overlaps/],
    ['/data/talaria/workspaces', /overlaps/],
  ])('may not overlap the data directory: %s', (path, problem) => {
    const list = [{ name: 'a', path, mode: 'copy' as const, keys: undefined }];
    expect(directoryProblems(list, circumstances)).toEqual([expect.stringMatching(problem)]);
  });

  it('names keys that exist', () => {
    const one = (fields: object) => [
      { name: 'a', path: '/srv', mode: 'copy' as const, keys: undefined, ...fields },
    ];
    expect(directoryProblems(one({ path: '/data/talaria-2' }), circumstances)).toEqual([]);
    expect(directoryProblems(one({ keys: ['eve'] }), circumstances)).toEqual([
      expect.stringContaining('"eve"'),
    ]);
  });

  const mount = (name: string, path: string) => ({ name, path, mode: 'mount' as const, keys: undefined });

  it('mounts where a run stays on this machine and sees nothing of the server', () => {
    const problemsIn = (more: object) =>
      directoryProblems([mount('a', '/srv/app')], { ...circumstances, ...more });
    expect(problemsIn({})).toEqual([]);
    expect(problemsIn({ configFile: '/srv/talaria.json' })).toEqual([]);
    expect(problemsIn({ backend: 'docker' })).toEqual([expect.stringContaining('only the local backend')]);
    expect(problemsIn({ isShared: true })).toEqual([expect.stringContaining('Postgres')]);
    expect(problemsIn({ configFile: '/srv/app/talaria.json' })).toEqual([
      expect.stringContaining('no run may see'),
    ]);
  });

  it('has none inside a mounted one', () => {
    const outer = mount('outer', '/srv');
    for (const inner of [
      mount('inner', '/srv/app'),
      { ...mount('inner', '/srv/app'), mode: 'copy' as const },
    ]) {
      expect(directoryProblems([inner, outer], circumstances)).toEqual([
        expect.stringContaining('"inner" is in it'),
      ]);
    }
    const twice = [outer, { ...outer, name: 'copied', mode: 'copy' as const }, mount('beside', '/srv2')];
    expect(directoryProblems(twice, circumstances)).toEqual([]);
  });

  it('may be missing, with a warning where runs are worked on', () => {
    const list = { here: { path: import.meta.dirname }, gone: { path: '/no/such/dir' } };
    const env = { TALARIA_DIRECTORIES: JSON.stringify(list) };
    expect(load({ env }).warnings).toEqual([
      'TALARIA_DIRECTORIES: "gone" has the path /no/such/dir, which does not exist; until it does, runs that begin ' +
        'with it fail',
    ]);
    const http = { TALARIA_ROLE: 'http', TALARIA_DATABASE_URL: 'postgres://db.example.com/talaria' };
    expect(load({ env: { ...env, ...http } }).warnings).toEqual([]);
  });
});
