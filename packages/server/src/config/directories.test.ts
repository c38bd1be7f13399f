import { describe, expect, it } from 'vitest';
import { type DirectoryCircumstances, directories, directoryProblems } from './directories.ts';
import { load } from './testing/load.ts';

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
    [{ a: { path: '~eve/srv' } }, '"a" needs a \'path\' of a directory: ~name is not understood'],
    [{ a: { path: ' ' } }, '"a" needs a \'path\' of a directory'],
    [{ a: { path: '/srv\0' } }, '"a" needs a \'path\' of a directory'],
    [{ a: {} }, '"a" needs a \'path\' of a directory'],
    [{ a: { path: '/srv', mode: 'link' } }, 'neither copy nor mount'],
    [{ a: { path: '/srv', keys: 'ada' } }, "has 'keys' that are not a list"],
    [{ a: { path: '/srv', pth: 1 } }, 'unknown field "pth"'],
  ])('refuses %j', (json, reason) => {
    expect(read(json)).toEqual({ refused: expect.stringContaining(reason) });
  });

  it('has paths as every setting: from the folder of the file, the working directory or the home directory', () => {
    const given = { beside: { path: 'project' }, home: { path: '~/project' } };
    const paths = (options: Parameters<typeof load>[0]) =>
      load(options).config.directories.map(({ path }) => path);
    const files = { '/etc/talaria/c.json': JSON.stringify({ directories: given }) };
    expect(paths({ argv: ['--config', '/etc/talaria/c.json'], files })).toEqual([
      '/etc/talaria/project',
      '/home/ada/project',
    ]);
    expect(paths({ env: { TALARIA_DIRECTORIES: JSON.stringify(given) } })).toEqual([
      '/srv/project',
      '/home/ada/project',
    ]);
  });

  it('warns about a path that does not exist, where runs are worked on', () => {
    const list = { here: { path: import.meta.dirname }, gone: { path: '/no/such/dir' } };
    const env = { TALARIA_DIRECTORIES: JSON.stringify(list) };
    expect(load({ env }).warnings).toEqual([
      'TALARIA_DIRECTORIES: "gone" has the path /no/such/dir, which does not exist; until it does, runs that begin ' +
        'with it fail',
    ]);
    const http = { TALARIA_ROLE: 'http', TALARIA_DATABASE_URL: 'postgres://db.example.com/talaria' };
    expect(load({ env: { ...env, ...http } }).warnings).toEqual([]);
  });

  it('is refused as text that is not JSON', () => {
    expect(directories().fromText('{', CONTEXT)).toEqual({ refused: 'it is not valid JSON' });
  });

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
});
