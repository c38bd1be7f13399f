import { expect, test } from 'vitest';
import { plainLog } from './log-frames.ts';

function block(stream: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

test('a log has both streams in order, as text that is safe for a terminal', () => {
  const log = Buffer.concat([
    block(1, 'one\n'),
    block(2, '\x1b[31mtwo\x1b[0m\x07\n'),
    block(1, 'thr'),
    block(1, 'ee'),
  ]);
  expect(plainLog(log)).toBe('one\n[31mtwo[0m\nthree');
});

test('a log that is cut off, empty or invalid gives the text that can be read', () => {
  expect(plainLog(block(1, 'whole\n').subarray(0, 11))).toBe('who');
  expect(plainLog(Buffer.alloc(0))).toBe('');
  expect(plainLog(Buffer.from('short'))).toBe('');
});

test('a long log is shortened to its end', () => {
  expect(plainLog(block(1, `${'x'.repeat(10_000)}the end`))).toMatch(/^x{3993}the end$/);
});
