import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Mark, MarkReader, promptFor, renderCall, renderPrompt } from './shell-marks.ts';

const KEY = '0123456789abcdef';
const ended = `\x1b]5123;${KEY};ended;7;3\x07`;
const prompt = `\x1b]5123;${KEY};prompt\x07`;
const begun = `\x1b]5123;${KEY};begun;7\x07`;

function read(pieces: readonly Buffer[]): { text: string; marks: Mark[] } {
  let text = '';
  const marks: Mark[] = [];
  const reader = new MarkReader(KEY, {
    mark: (mark) => marks.push(mark),
    text: (bytes) => {
      text += bytes.toString('latin1');
    },
  });
  for (const piece of pieces) {
    // Its owner uses the memory again.
    const chunk = Buffer.from(piece);
    reader.write(chunk);
    chunk.fill('!');
  }
  return { text, marks };
}

test('marks are taken out of the text, however it is cut', () => {
  const whole = Buffer.from(
    `a\x1b[1mb${begun}out\x1b]0;title\x07${ended}$ ${prompt}\x1b]5123;other;prompt\x07z`,
  );
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: whole.length })), (cuts) => {
      const at = [0, ...cuts.sort((one, other) => one - other), whole.length];
      const pieces = at.slice(1).map((end, index) => whole.subarray(at[index], end));
      expect(read(pieces)).toEqual({
        text: 'a\x1b[1mbout\x1b]0;title\x07$ \x1b]5123;other;prompt\x07z',
        marks: [{ kind: 'begun', call: '7' }, { kind: 'ended', call: '7', code: 3 }, { kind: 'prompt' }],
      });
    }),
  );
});

test('what only begins like a mark is text', () => {
  const text = `\x1b]5123;${KEY};${'x'.repeat(500)}`;
  expect(read([Buffer.from(text), Buffer.from('end')])).toEqual({ text: `${text}end`, marks: [] });
});

test('a shell prints the marks from its prompt and from a call', () => {
  expect(promptFor(KEY).PS1).toContain(`\x1b]5123;${KEY};ended;$TALARIA_CALL;$?\x07`);
  expect(renderCall(KEY, '7', 'ls')).toContain(`\\033]5123;${KEY};begun;7\\007`);
});

test('marks are put around a prompt without them, once', () => {
  const { PS1 } = promptFor(KEY);
  const script = `PS1=mine; ${renderPrompt(KEY).replace(/^return.*/m, '')}`;
  const show = 'printf %s "$PS1"';
  const [once, twice] = [script, script + renderPrompt(KEY).replace(/^return.*/m, '')].map((text) =>
    execFileSync('sh', ['-c', `${text}${show}`], { encoding: 'latin1' }),
  );
  expect(once).toBe(PS1?.replace('$ ', 'mine'));
  expect(twice).toBe(once);
});
