/** What `talaria diff` asks of a server, and what it prints. */
import type { ChangedFile } from '@talaria/client';
import { describe, expect, it } from 'vitest';
import { json, serve } from '../../../../../client/src/testing/test-server.ts';
import { main } from '../../main.ts';
import { createStyle } from '../../style.ts';
import { TestTerminal } from '../../testing/test-terminal.ts';
import { statLines } from './diff-stat.ts';
import { PatchPainter } from './paint-patch.ts';

const RUN = 'run_00000000000000000000000000000000';

const change = (path: string, more: Partial<ChangedFile> = {}): ChangedFile => ({
  path,
  status: 'modified',
  additions: 0,
  deletions: 0,
  binary: false,
  ...more,
});

describe('the list', () => {
  it('says for each file what happened to it, and how much it is altogether', () => {
    const data = [
      change('src/a.ts', { additions: 12, deletions: 3 }),
      change('new\nline\x1b', { status: 'added', additions: 1 }),
      change('old', { status: 'deleted', deletions: 40 }),
      change('logo.png', { binary: true }),
      change('moved', { status: 'added', renamed_from: 'was\nhere' }),
      change('was\nhere', { status: 'deleted', renamed_to: 'moved' }),
      change('run.sh'),
      change('huge.log', { additions: null, deletions: null, binary: true, reason: 'too_large' }),
      change('later', { status: 'renamed' as never }),
    ];
    expect(statLines({ data, truncated: false }, createStyle(false))).toEqual([
      'M +12 -3     src/a.ts',
      'A +1         new␊line␛',
      'D -40        old',
      'M binary     logo.png',
      'A            moved (was was␊here)',
      'D            was␊here (now moved)',
      'M            run.sh',
      'M too large  huge.log',
      '?            later',
      '9 files changed, +13 -43',
    ]);
  });

  it('says that nothing changed, and that there is more', () => {
    const style = createStyle(false);
    expect(statLines({ data: [], truncated: false }, style)).toEqual(['No file changed']);
    const cut = statLines({ data: [change('a')], truncated: true }, style);
    expect(cut.at(-1)).toBe('More than 1 file changed, +0 -0');
  });
});

it('a patch that is not whole says how much is missing', async () => {
  const { url } = await serve((response) => {
    response.writeHead(200, { 'x-talaria-left-out': '12' }).end();
  });
  const terminal = new TestTerminal({ TALARIA_BASE_URL: url });
  expect(await main(['diff', RUN], terminal)).toBe(0);
  expect(terminal.stderr.written).toBe('12 changed files are not shown: name a directory\n');
});

it('a patch has colours by what a line is, and none that it brings itself', () => {
  const painter = new PatchPainter({
    ...createStyle(false),
    strong: (text) => `<h>${text}`,
    busy: (text) => `<@>${text}`,
    good: (text) => `<+>${text}`,
    bad: (text) => `<->${text}`,
    faint: (text) => `<f>${text}`,
  });
  const patch = [
    'diff --git a/x b/x',
    '--- a/x',
    '+++ b/x',
    '@@ -1,2 +1,2 @@ fn',
    '--- a comment',
    '+++ another',
    ' same \x1b[31m\r',
    '\\ No newline at end of file',
    '@@ -9 +9,0 @@',
    '-gone',
    'diff --git a/y b/y',
  ];
  expect(patch.map((line) => painter.paint(line))).toEqual([
    '<h>diff --git a/x b/x',
    '<h>--- a/x',
    '<h>+++ b/x',
    '<@>@@ -1,2 +1,2 @@ fn',
    '<->--- a comment',
    '<+>+++ another',
    ' same ␛[31m␍',
    '<f>\\ No newline at end of file',
    '<@>@@ -9 +9,0 @@',
    '<->-gone',
    '<h>diff --git a/y b/y',
  ]);
});

describe('the command', () => {
  const diff = async (url: string, ...argv: string[]) => {
    const terminal = new TestTerminal({ TALARIA_BASE_URL: url });
    const code = await main(['diff', RUN, ...argv], terminal);
    return { code, out: terminal.stdout.written, err: terminal.stderr.written };
  };

  it('asks for the whole run, for a part of it, and for each path', async () => {
    const { url, asked } = await serve((response, { url: path }) => {
      const name = new URL(path, 'http://x').searchParams.get('path') ?? 'all';
      json(response, 200, { object: 'list', data: [change(name), change('both')] });
    });
    expect(await diff(url, '--stat')).toEqual({
      code: 0,
      out: 'M   all\nM   both\n2 files changed, +0 -0\n',
      err: '',
    });
    const { out } = await diff(url, '--json', '--from', '-1', '--to', '5', 'a b', 'c');
    expect(JSON.parse(out)).toEqual({
      object: 'list',
      data: [change('a b'), change('both'), change('c')],
      truncated: false,
    });
    expect(asked.map((each) => each.url.replace(`/v1/runs/${RUN}/diff`, ''))).toEqual([
      '',
      '?from=-1&to=5&path=a+b',
      '?from=-1&to=5&path=c',
    ]);
  });

  it('says that a server is too old, and what it refuses', async () => {
    const codes = ['not_found', 'run_not_found'];
    const { url } = await serve((response) => {
      const code = codes.shift();
      json(response, 404, { error: { message: `This is ${code}`, code } });
    });
    expect(await diff(url)).toMatchObject({
      code: 1,
      err: 'This server does not keep what a run changed; it is too old\n',
    });
    expect(await diff(url)).toMatchObject({ code: 1, err: expect.stringContaining('This is run_not_found') });
  });
});
