import { expect, test } from 'vitest';
import { Recording } from './recording.ts';
import { renderScreen } from './screen-thread.ts';

const SIZE = { columns: 40, rows: 10 };

test('it is bounded, however much is printed and in however small pieces', () => {
  const recording = new Recording(SIZE);
  const line = Buffer.from(`${'x'.repeat(79)}\n`);
  for (let i = 0; i < 50_000; i++) recording.write(line);
  for (let i = 0; i < 50_000; i++) recording.write(Buffer.from('.'));
  const { text } = recording.replay();
  expect(text).toHaveLength(160 * 1024);
  expect(text.endsWith('.'.repeat(50_000))).toBe(true);
  let streamed = 0;
  for (let part = recording.stream(50_000); part.lines !== ''; part = recording.stream(50_000)) {
    streamed += part.lines.length;
  }
  expect(streamed).toBeLessThan(2 * 1024 * 1024);
});

test('a stream says when it has missed something, and never gives half a line', () => {
  const recording = new Recording(SIZE);
  recording.write(Buffer.from('first'));
  const first = recording.stream(100_000);
  expect(first).toMatchObject({ missing: false, offset: Buffer.byteLength(first.lines) });
  for (let i = 0; i < 3_000; i++) recording.write(Buffer.from(`${'y'.repeat(999)}\n`));
  let lines = '';
  for (let part = recording.stream(50_000); part.lines !== ''; part = recording.stream(50_000)) {
    if (lines === '') expect(part.missing).toBe(true);
    expect(part.lines.endsWith('\n')).toBe(true);
    lines += part.lines;
  }
  const texts = lines
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as [number, string, string])[2]);
  expect(texts.join('').endsWith('yyy\n')).toBe(true);
  expect(recording.stream(50_000)).toMatchObject({ lines: '', missing: false });
});

test('a character that comes in two pieces is one', () => {
  const recording = new Recording(SIZE);
  const bytes = Buffer.from('日');
  recording.write(bytes.subarray(0, 1));
  recording.write(bytes.subarray(1));
  expect(recording.replay().text).toBe('日');
});

test('the other screen stays in use after its beginning was forgotten', async () => {
  const recording = new Recording(SIZE);
  recording.write(Buffer.from('$ draw\r\n\x1b[?1049h'));
  for (let i = 0; i < 2_000; i++) recording.write(Buffer.from(`\x1b[H\x1b[2J${i} ${'z'.repeat(990)}`));
  const { text, alternate } = recording.replay();
  expect(alternate).toBe(true);
  const screen = { ...SIZE, alternate, entire: false };
  expect(await renderScreen({ ...screen, printed: `${text}\x1b[H\x1b[2Jdrawn` })).toBe('drawn\n');
  const back = await renderScreen({ ...screen, printed: `${text}\x1b[?1049l` });
  expect(back).not.toContain('z');
});
