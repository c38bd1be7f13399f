import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../../../../test/support/any-text.ts';
import { safeCommand, safeCommandLine, safeJson, safeLine, safeText } from './safe-text.ts';

/** Everything that controls a terminal, begins a line, or reorders what is shown. */
const DRIVES = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]/;

const hostileText = fc
  .array(
    fc.oneof(
      anyText(),
      fc.constantFrom(
        '\x1b[2J',
        '\x1b]0;title\x07',
        '\x9b31m',
        '\r',
        '\b',
        '\u202e',
        '\u2028',
        '\u2029',
        '\u206f',
        '\ufffa',
        '\ufeff',
        '\u200b',
        '\n',
        '\t',
      ),
    ),
  )
  .map((parts) => parts.join(''));

describe('whatever the text, nothing in it drives a terminal:', () => {
  it.each([
    ['safeText', safeText],
    ['safeCommand', safeCommand],
    ['safeLine', safeLine],
    ['safeCommandLine', safeCommandLine],
  ])('%s', (_, safe) => {
    fc.assert(fc.property(hostileText, (text) => !DRIVES.test(safe(text))));
  });

  it('safeLine and safeCommandLine give one line', () => {
    fc.assert(fc.property(hostileText, (text) => !/[\n\t]/.test(safeLine(text) + safeCommandLine(text))));
  });

  it('safeJson, which still says the same', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const json = safeJson({ text });
        return !DRIVES.test(json) && !json.includes('\n') && JSON.parse(json).text === text;
      }),
    );
  });
});

it('a separator of lines is shown and begins none', () => {
  expect(safeText('a\u2028b\u2029c')).toBe('a<U+2028>b<U+2029>c');
});

it('text without such characters is not changed', () => {
  const text = 'Grüße, 世界! 👩‍👩‍👧 ❤️ שלום\n\tindented — “quoted”';
  expect(safeText(text)).toBe(text);
});

it('shows values that are not text as JSON', () => {
  const shown = [undefined, null, 7, { a: '\x1b' }].map((value) => safeLine(value as unknown as string));
  expect(shown).toEqual(['', 'null', '7', '{"a":"\\u001b"}']);
});

it('control characters are shown as pictures', () => {
  expect(safeText('a\x1b[31mb\x07\x7f\x9bc\r\n')).toBe('a␛[31mb␇␡<U+009B>c\n');
});

it('a command shows every one of its characters', () => {
  expect(safeCommand('rm \u202efdp.\u200bx\u00ad\ufeff\u{e0041}\r')).toBe(
    'rm <U+202E>fdp.<U+200B>x<U+00AD><U+FEFF><U+E0041>␍',
  );
});
