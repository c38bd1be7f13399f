import type { Content, HistoryMessage } from '@talaria/protocol';
import { parseMessage } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { hasAttachments, placeAttachments } from './attachments.ts';

const ID = `file-${'1'.repeat(32)}`;
const STORED = { fileId: ID, filename: 'stored.csv', bytes: 9, blobId: 'blob_1' };
const files = {
  get: async (owner: string, id: string) => (owner === 'ada' && id === ID ? STORED : undefined),
} as never;

const user = (...parts: unknown[]): HistoryMessage =>
  parseMessage({ role: 'user', content: parts }, 'messages[0]');
const data = (filename: string | undefined, text = 'x') => ({
  type: 'input_file',
  filename,
  file_data: Buffer.from(text).toString('base64'),
});
const place = (prompt: Content, more: { history?: HistoryMessage[]; taken?: string[] } = {}) =>
  placeAttachments('ada', { prompt, history: more.history }, { files, taken: more.taken ?? [] });
const texts = (content: Content) =>
  typeof content === 'string'
    ? [content]
    : content.map((part) => (part.type === 'text' ? part.text : part.type));

describe('files in messages', () => {
  it('become files of the workspace, and sentences that say where', async () => {
    const history = [user({ type: 'file', file: { file_id: ID } })];
    const prompt = user({ type: 'text', text: 'Read it' }, data('a b.txt', 'hello')).content;
    expect(hasAttachments({ prompt, history })).toBe(true);
    const placed = await place(prompt, { history });
    expect(placed.files).toEqual([
      { path: 'stored.csv', blob_id: 'blob_1', size: 9 },
      { path: 'a b.txt', content: 'aGVsbG8=', encoding: 'base64' },
    ]);
    expect(placed.blobs).toEqual([{ blobId: 'blob_1', from: `file:${ID}` }]);
    expect(texts(placed.messages.prompt)).toEqual([
      'Read it',
      '\n[The file a b.txt is in the workspace. It has 5 bytes.]\n',
    ]);
    expect(JSON.stringify(placed.messages)).not.toMatch(/file_id|aGVsbG8/);
  });

  it('that come twice are one; those of the same name are two', async () => {
    const prompt = user(data('a.txt'), data('a.txt'), data('a.txt', 'y'), data('b'), data('b', 'y')).content;
    const { files: placed } = await place(prompt, { taken: ['b'] });
    expect(placed.map(({ path }) => path)).toEqual(['a.txt', 'a-2.txt', 'b-2', 'b-3']);
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\me\\report.pdf', 'report.pdf'],
    ['.bashrc', 'bashrc'],
    ['-rf', 'rf'],
    ['a\nb\0\u202e.txt', 'ab.txt'],
    ['..', 'file'],
    ['/', 'file'],
    [undefined, 'file'],
    [`${'x'.repeat(300)}.pdf`, `${'x'.repeat(196)}.pdf`],
  ])('have names that stay in the workspace: %j', async (given, name) => {
    const { files: placed } = await place(user(data(given)).content);
    expect(placed.map(({ path }) => path)).toEqual([name]);
  });

  it.each([ID.replace('1', '2'), 'file-1', '../x'])('that do not exist are refused: %s', async (id) => {
    const { content } = user({ type: 'input_file', file_id: id });
    await expect(place(content)).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'messages[0].content[0]',
    });
  });

  it("of another key do not exist, and only the user's messages have any", async () => {
    const { content: prompt } = user({ type: 'input_file', file_id: ID });
    await expect(placeAttachments('eve', { prompt }, { files, taken: [] })).rejects.toMatchObject({
      message: expect.stringContaining('names no file of this key'),
    });
    for (const role of ['assistant', 'system', 'tool']) {
      expect(() => parseMessage({ role, content: [data('x')], tool_call_id: 'c' }, 'm')).toThrow(
        /cannot have/,
      );
    }
  });

  it('leave other messages as they are', () => {
    expect(hasAttachments({ prompt: 'text', history: [user({ type: 'text', text: 'x' })] })).toBe(false);
  });
});
