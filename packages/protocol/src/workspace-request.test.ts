import { describe, expect, it } from 'vitest';
import { TalariaError } from './errors.ts';
import { parseWorkspace, WORKSPACE_FILES_MAX } from './workspace-request.ts';

const FILE_ID = `file-${'a'.repeat(32)}`;

describe('a workspace request', () => {
  it('is absent, or brings what it names in its normal form', () => {
    for (const nothing of [undefined, null, {}, { files: [], archives: [], git: [] }]) {
      expect(parseWorkspace(nothing)).toBeUndefined();
    }
    const whole = {
      files: [
        { path: './notes//today.md', content: 'ü' },
        { path: 'data.bin', content: 'AAE=', encoding: 'base64' },
        { path: 'given', file_id: FILE_ID },
      ],
      archives: [{ file_id: FILE_ID }, { path: './src', content: '', encoding: 'base64' }],
      git: [{ path: 'repo', url: 'HTTPS://Example.com:443/a/../b.git#part', ref: 'v1.0/rc-1', depth: 1 }],
      directory: 'app',
    };
    expect(parseWorkspace(whole)).toEqual({
      files: [
        { path: 'notes/today.md', content: 'ü' },
        { path: 'data.bin', content: 'AAE=', encoding: 'base64' },
        { path: 'given', file_id: FILE_ID },
      ],
      archives: [
        { path: '.', file_id: FILE_ID },
        { path: 'src', content: '', encoding: 'base64' },
      ],
      git: [{ path: 'repo', url: 'https://example.com/b.git', ref: 'v1.0/rc-1', depth: 1 }],
      directory: 'app',
    });
  });

  const file = (fields: object) => ({ files: [{ path: 'a', content: '', ...fields }] });
  const archive = (fields: object) => ({ archives: [{ path: '.', file_id: FILE_ID, ...fields }] });
  const git = (fields: object) => ({ git: [{ path: 'a', url: 'https://example.com/r', ...fields }] });

  it.each<[unknown, string]>([
    ['files', 'workspace'],
    [[], 'workspace'],
    [{ archive: [] }, 'workspace'],
    [{ files: {} }, 'workspace.files'],
    [{ files: ['a'] }, 'workspace.files[0]'],
    [{ files: Array(WORKSPACE_FILES_MAX + 1).fill({}) }, 'workspace.files'],
    [file({ mode: 7 }), 'workspace.files[0]'],
    [file({ path: undefined }), 'workspace.files[0].path'],
    [file({ path: '' }), 'workspace.files[0].path'],
    [file({ path: '.' }), 'workspace.files[0].path'],
    [file({ path: 'a/' }), 'workspace.files[0].path'],
    [file({ path: '/etc/passwd' }), 'workspace.files[0].path'],
    [file({ path: '../a' }), 'workspace.files[0].path'],
    [file({ path: 'a/../../b' }), 'workspace.files[0].path'],
    [file({ path: 'a\0b' }), 'workspace.files[0].path'],
    [file({ path: 'a\ud800' }), 'workspace.files[0].path'],
    [file({ path: 'ü'.repeat(128) }), 'workspace.files[0].path'],
    [file({ path: `${'a/'.repeat(101)}b` }), 'workspace.files[0].path'],
    [file({ path: 'x'.repeat(4097) }), 'workspace.files[0].path'],
    [file({ content: undefined }), 'workspace.files[0]'],
    [file({ file_id: FILE_ID }), 'workspace.files[0]'],
    [file({ content: 5 }), 'workspace.files[0].content'],
    [file({ content: 'a\ud800' }), 'workspace.files[0].content'],
    [file({ encoding: 'utf8' }), 'workspace.files[0].encoding'],
    [file({ content: 'AAE', encoding: 'base64' }), 'workspace.files[0].content'],
    [file({ content: 'AA==AA==', encoding: 'base64' }), 'workspace.files[0].content'],
    [file({ content: undefined, file_id: 'file-../x' }), 'workspace.files[0].file_id'],
    [
      {
        files: [
          { path: 'a', content: '' },
          { path: './a', content: '' },
        ],
      },
      'workspace.files[0].path',
    ],
    [
      {
        files: [
          { path: 'a/b/c', content: '' },
          { path: 'a', content: '' },
        ],
      },
      'workspace.files[0].path',
    ],
    [archive({ file_id: undefined, content: 'text' }), 'workspace.archives[0].encoding'],
    [archive({ path: '../x' }), 'workspace.archives[0].path'],
    [git({ url: 5 }), 'workspace.git[0].url'],
    [git({ url: 'file:///etc' }), 'workspace.git[0].url'],
    [git({ url: '/etc' }), 'workspace.git[0].url'],
    [git({ url: 'ext::sh -c id' }), 'workspace.git[0].url'],
    [git({ url: 'ssh://example.com/x' }), 'workspace.git[0].url'],
    [git({ url: 'git@example.com:x' }), 'workspace.git[0].url'],
    [git({ url: '-uecho' }), 'workspace.git[0].url'],
    [git({ url: '--upload-pack=touch x' }), 'workspace.git[0].url'],
    [git({ url: 'http://' }), 'workspace.git[0].url'],
    [git({ url: 'https://example.com/a b' }), 'workspace.git[0].url'],
    [git({ url: 'https://example.com\\@evil/' }), 'workspace.git[0].url'],
    [git({ url: 'ht\ntps://example.com/' }), 'workspace.git[0].url'],
    [git({ url: 'https://user:a%0Ahost=x@example.com/' }), 'workspace.git[0].url'],
    [git({ ref: '-uecho' }), 'workspace.git[0].ref'],
    [git({ ref: '--upload-pack=x' }), 'workspace.git[0].ref'],
    [git({ ref: 'a..b' }), 'workspace.git[0].ref'],
    [git({ ref: 'a:b' }), 'workspace.git[0].ref'],
    [git({ ref: '' }), 'workspace.git[0].ref'],
    [git({ ref: '+refs/heads/*' }), 'workspace.git[0].ref'],
    [git({ depth: 0 }), 'workspace.git[0].depth'],
    [git({ depth: '1' }), 'workspace.git[0].depth'],
    [{ directory: '/srv' }, 'workspace.directory'],
    [{ directory: '../x' }, 'workspace.directory'],
    [{ directory: 7 }, 'workspace.directory'],
  ])('%j is refused at %s', (value, param) => {
    expect(() => parseWorkspace(value)).toThrow(
      expect.toSatisfy((error) => error instanceof TalariaError && error.param === param) as Error,
    );
  });

  it('does not repeat a URL with credentials in an error', () => {
    const url = 'ftp://user:secret-token@example.com/';
    expect(() => parseWorkspace({ git: [{ url }] })).toThrow(
      expect.toSatisfy((error: Error) => !error.message.includes('secret-token')) as Error,
    );
  });
});
