/** What a run's workspace begins with (PROTOCOL.md). */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { expectError } from './checked-api.ts';
import { apiOf, commands, type GetTarget } from './target.ts';

export function describeWorkspace(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('the workspace of a run', () => {
    const previewOf = async (workspace: object, command: string) => {
      const runId = await api().create(commands(command), { workspace });
      const { frames } = await api().stream(runId);
      expect(frames.at(-1)?.event.event).toBe('run.completed');
      return frames.flatMap(({ event }) => (event.event === 'tool.completed' ? [event.preview] : []))[0];
    };

    it('begins with the files of the request, as text and as base64', async () => {
      const workspace = {
        files: [
          { path: 'deep/er/text', content: 'ü' },
          { path: './bytes', content: 'aGVsbG8=', encoding: 'base64' },
        ],
      };
      expect(await previewOf(workspace, 'cat deep/er/text bytes')).toBe('ühello');
    });

    it('begins with archives, and files go over them', async () => {
      const workspace = {
        archives: [{ path: 'in', content: tarOf('a/file').toString('base64'), encoding: 'base64' }],
        files: [{ path: 'in/a/more', content: 'more' }],
      };
      expect(await previewOf(workspace, 'cat in/a/file in/a/more')).toBe('contentmore');
    });

    it('is part of what an idempotency key stands for', async () => {
      const key = { 'idempotency-key': `workspace-${Math.random()}` };
      const input = commands('cat file');
      const create = (content: string) =>
        api().post('/v1/runs', { input, workspace: { files: [{ path: 'file', content }] } }, key);
      expect((await create('one')).status).toBe(202);
      expect(await create('one')).toMatchObject({ status: 202, body: { replayed: true } });
      expectError(await create('two'), { status: 409, code: 'idempotency_key_conflict' });
    });

    it('that cannot be made fails the run before its first step, and names the part', async () => {
      const archives = [{ content: tarOf('../out').toString('base64'), encoding: 'base64' }];
      const runId = await api().create(commands('true'), { workspace: { archives } });
      const { frames } = await api().stream(runId);
      expect(frames.map(({ event }) => event)).toMatchObject([
        {
          event: 'run.failed',
          error_code: 'workspace_setup',
          error: expect.stringMatching(/^workspace\.archives\[0\]: /),
        },
      ]);
    });

    it.each<[object, string]>([
      [{ file: [] }, 'workspace'],
      [{ files: [{ path: '../x', content: '' }] }, 'workspace.files[0].path'],
      [{ files: [{ path: '/x', content: '' }] }, 'workspace.files[0].path'],
      [{ files: [{ path: 'x' }] }, 'workspace.files[0]'],
      [{ files: [{ path: 'x', file_id: `file-${'0'.repeat(32)}` }] }, 'workspace.files[0].file_id'],
      [{ archives: [{ path: 'x', content: 'text' }] }, 'workspace.archives[0].encoding'],
      [{ git: [{ url: 'file:///etc' }] }, 'workspace.git[0].url'],
      [{ git: [{ url: 'ext::sh -c id' }] }, 'workspace.git[0].url'],
      [{ git: [{ url: 'https://example.com/x', ref: '--upload-pack=id' }] }, 'workspace.git[0].ref'],
      [{ directory: '/etc' }, 'workspace.directory'],
      [{ directory: 'no-such-directory' }, 'workspace.directory'],
    ])('is refused, and no run is made: %j', async (workspace, param) => {
      const answer = await api().post('/v1/runs', { input: 'x', workspace });
      expectError(answer, { status: 400, code: 'invalid_workspace', param });
    });
  });
}

/** A tar.gz of one file. */
function tarOf(name: string, content = 'content'): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write(`${content.length.toString(8).padStart(11, '0')} `, 124);
  header.write('00000000000 ', 136);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const body = Buffer.alloc(512);
  body.write(content);
  return gzipSync(Buffer.concat([header, body, Buffer.alloc(1024)]));
}
