import { describe, expect, it } from 'vitest';
import { load } from '../testing/load.ts';
import { directories } from './directories.ts';

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

  it('is refused as text that is not JSON', () => {
    expect(directories().fromText('{', CONTEXT)).toEqual({ refused: 'it is not valid JSON' });
  });
});
