import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyHunks } from './apply-hunks.ts';
import { EditError } from './edit-error.ts';
import { occurrences } from './occurrences.ts';
import { type Hunk, type HunkLine, PatchFormatError, parsePatch } from './parse-patch.ts';
import { replaceText } from './replace-text.ts';

const replace = (text: string, oldString: string, newString: string, replaceAll = false) =>
  replaceText(text, { oldString, newString, replaceAll });

function hunksOf(...body: string[]): Hunk[] {
  const [file] = parsePatch(['*** Begin Patch', '*** Update File: f', ...body, '*** End Patch'].join('\n'));
  return file?.kind === 'update' ? file.hunks : expect.unreachable();
}

const apply = (text: string, ...body: string[]) => applyHunks(text, hunksOf(...body));

describe('occurrences', () => {
  test('are the same as those of a naive search', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 30 });
    fc.assert(
      fc.property(text, text, (where, what) => {
        const expected = [...where].map((_, at) => at).filter((at) => what && where.startsWith(what, at));
        expect(occurrences(where, what)).toEqual(expected);
      }),
    );
  });

  test('a text made to be slow is searched in time', () => {
    const before = process.threadCpuUsage();
    expect(occurrences('a'.repeat(2_000_000), `${'a'.repeat(1_000_000)}b`)).toEqual([]);
    expect(process.threadCpuUsage(before).user).toBeLessThan(5_000_000);
  });
});

describe('replacing', () => {
  test('changes one place, or all of them', () => {
    expect(replace('a b c', 'b', 'x')).toEqual({ text: 'a x c', lines: [1] });
    expect(replace('b\nb\nb', 'b', '$&', true)).toEqual({ text: '$&\n$&\n$&', lines: [1, 2, 3] });
    expect(replace('aaaa', 'aa', 'b', true).text).toBe('bb');
    expect(replace('a b', ' b', '').text).toBe('a');
  });

  test('line ends written as LF stand for the CRLF of the text', () => {
    expect(replace('a\r\nb\r\nc\r\n', 'a\nb', 'x\ny\nz').text).toBe('x\r\ny\r\nz\r\nc\r\n');
    expect(() => replace('a\r\nb\nc', 'a\nb', 'x')).toThrow(EditError);
  });

  test.each([
    ['a b', '', 'x', /empty/],
    ['a b', 'a', 'a', /same/],
    ['a\nb\nb\n', 'b', 'x', /2 times, in lines 2, 3\..*replace_all/],
    ['ababa', 'aba', 'x', /2 times/],
    ['x\n'.repeat(20), 'x', 'y', /20 times, in lines 1, .*10, …/],
    ['\tif (x) {\n', '  if (x) {\n', 'y', /Line 1 differs from it only in white space:\n {2}1: \tif/],
    ['one\nconst total = 12;\n', 'const total = 13;', 'y', /closest lines are:\n {2}2: const total = 12;/],
    ['one\n', 'something else entirely', 'y', /No line of the file is like it/],
  ])('%j: %j by %j says why not', (text, oldString, newString, words) => {
    expect(() => replace(text, oldString, newString)).toThrow(EditError);
    expect(() => replace(text, oldString, newString)).toThrow(words);
  });

  test('can be undone by replacing back, unless that is ambiguous', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', '\n', 'ü'), maxLength: 5 });
    fc.assert(
      fc.property(piece, piece, piece, piece, (before, oldString, newString, after) => {
        const text = before + oldString + after;
        try {
          const changed = replace(text, oldString, newString).text;
          expect(changed).toBe(before + newString + after);
          expect(replace(changed, newString, oldString).text).toBe(text);
        } catch (error) {
          expect(error).toBeInstanceOf(EditError);
        }
      }),
    );
  });
});

describe('the patch format', () => {
  test('adds, updates, moves and deletes', () => {
    const text = `
*** Begin Patch
*** Add File: new/a.txt
+one
+
++two
*** Update File: b.txt
*** Move to: c.txt
@@ class A
@@ def f
 stays

-goes
+comes
*** End of File

*** Delete File: d e.txt
*** End Patch
`;
    expect(parsePatch(text)).toEqual([
      { kind: 'add', path: 'new/a.txt', content: 'one\n\n+two\n' },
      {
        kind: 'update',
        path: 'b.txt',
        moveTo: 'c.txt',
        hunks: [
          {
            anchors: ['class A', 'def f'],
            lines: [
              { kind: 'keep', text: 'stays' },
              { kind: 'keep', text: '' },
              { kind: 'remove', text: 'goes' },
              { kind: 'add', text: 'comes' },
            ],
            atEnd: true,
          },
        ],
      },
      { kind: 'delete', path: 'd e.txt' },
    ]);
    expect(parsePatch(text.replaceAll('\n', '\r\n'))).toEqual(parsePatch(text));
  });

  test.each([
    ['', /start with/],
    ['--- a\n+++ b\n', /start with the line '\*\*\* Begin Patch'/],
    ['*** Begin Patch\n', /end with the line '\*\*\* End Patch'/],
    ['*** Begin Patch\n*** End Patch', /no file/],
    ['*** Begin Patch\n*** Delete File:\n*** End Patch', /Line 2 .*path is missing/],
    ['*** Begin Patch\n*** Rename File: a\n*** End Patch', /Line 2 .*expected/],
    ['*** Begin Patch\n*** Add File: a\nx\n*** End Patch', /Line 3 .*starts with '\+'/],
    ['*** Begin Patch\n*** Update File: a\n*** End Patch', /no hunk/],
    ['*** Begin Patch\n*** Update File: a\n@@\n stays\n*** End Patch', /changes nothing/],
    ['*** Begin Patch\n*** Update File: a\n@@\nx\n*** End Patch', /Line 4 .*"x".*starts with ' '/],
    ['*** Begin Patch\n*** Delete File: a\n*** End Patch\nand so on', /Line 4 .*"and so on".*after/],
  ])('%j is refused with a reason', (text, words) => {
    expect(() => parsePatch(text)).toThrow(PatchFormatError);
    expect(() => parsePatch(text)).toThrow(words);
  });

  test('no text makes the parser throw anything but its own error', () => {
    const line = fc.oneof(
      fc.constantFrom('*** Begin Patch', '*** End Patch', '*** End of File', '*** Update File: a', '@@', ''),
      fc.constantFrom('*** Add File: b', '*** Delete File: c', '*** Move to: d', '@@ x', '@@ -1 +1 @@', '\r'),
      fc.constantFrom(' x', '-x', '+x', '\\ No newline'),
      fc.string(),
    );
    const begun = fc.array(line).map((lines) => ['*** Begin Patch', ...lines, '*** End Patch']);
    fc.assert(
      fc.property(fc.oneof(fc.array(line), begun), (lines) => {
        try {
          expect(parsePatch(lines.join('\n')).length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(PatchFormatError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('a patch made to be slow is read in time', () => {
    const before = process.threadCpuUsage();
    const text = `*** Begin Patch\n*** Update File: a\n-x\n${'\n'.repeat(500_000)} y\n*** End Patch`;
    expect(parsePatch(text)).toHaveLength(1);
    expect(process.threadCpuUsage(before).user).toBeLessThan(5_000_000);
  });
});

describe('applying hunks', () => {
  const text = 'one\ntwo\nthree\n\nfour\ntwo\nfive\n';

  test('puts each hunk where its lines match', () => {
    expect(apply(text, '@@', ' one', '-two', '+2', '@@', ' two', '-five', '+5', '+6')).toBe(
      'one\n2\nthree\n\nfour\ntwo\n5\n6\n',
    );
  });

  test('an anchor chooses between places, and positions an addition', () => {
    expect(apply(text, '@@ four', '-two', '+2')).toBe('one\ntwo\nthree\n\nfour\n2\nfive\n');
    expect(apply(text, '@@ four', '+4½')).toBe('one\ntwo\nthree\n\nfour\n4½\ntwo\nfive\n');
    expect(apply(text, '@@ three', '@@ two', '+2½')).toBe('one\ntwo\nthree\n\nfour\ntwo\n2½\nfive\n');
  });

  test('a hunk can be at the end of the file', () => {
    expect(apply(text, '+six', '*** End of File')).toBe(`${text}six\n`);
    expect(apply('a\nb\na', '-a', '+c', '*** End of File')).toBe('a\nb\nc');
    expect(apply('', '+first')).toBe('first\n');
  });

  test('ignores white space at the end of a line, and leaves kept lines unchanged', () => {
    expect(apply('keep  \nold\t\nlast', ' keep', '-old', '+new')).toBe('keep  \nnew\nlast');
  });

  test('CRLF stays CRLF', () => {
    expect(apply('a\r\nb\r\nc\r\n', ' a', '-b', '+x', '+y')).toBe('a\r\nx\r\ny\r\nc\r\n');
  });

  test.each([
    [['-two', '+2'], /The hunk fits 2 places, at lines 2, 6/],
    [['-two  ', '+2'], /fits 2 places/],
    [
      ['@@', '-one', '+1', '@@', '-thre', '+3'],
      /Hunk 2 does not apply.*\n {2}thre\n.*closest lines are:\n {2}3: three/,
    ],
    [['@@', '-five', '+5', '@@', '-one', '+1'], /Hunk 2 .*\n {2}one\nThey stand at line 1, before/],
    [['@@ seven', '-two', '+2'], /'@@ seven' was not found/],
    [['+2'], /only adds lines/],
    [['-  two', '+2'], /does not apply/],
    [['-two', '+2', '*** End of File'], /at the end of the file/],
  ])('%j is refused with a reason', (body, words) => {
    expect(() => apply(text, ...body)).toThrow(EditError);
    expect(() => apply(text, ...body)).toThrow(words);
  });

  test('an edit and its inverse restore the text, whatever context they come with', () => {
    const line = fc.constantFrom('a', 'b', ' a', 'a ', '', 'c\r', '@@', '*** x');
    const edit = fc.array(fc.record({ kind: fc.constantFrom('keep', 'remove', 'add'), text: line }), {
      minLength: 1,
      maxLength: 12,
    }) as fc.Arbitrary<HunkLine[]>;
    const textOf = (lines: HunkLine[], without: string) =>
      lines.map(({ kind, text }) => (kind === without ? '' : `${text}\n`)).join('');
    const inverse: Record<string, HunkLine['kind']> = { keep: 'keep', remove: 'add', add: 'remove' };
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 4 }),
        edit,
        fc.array(line, { maxLength: 4 }),
        (head, lines, tail) => {
          const around = (middle: string) =>
            head.map((each) => `${each}\n`).join('') + middle + tail.map((each) => `${each}\n`).join('');
          const before = around(textOf(lines, 'add'));
          const after = around(textOf(lines, 'remove'));
          const back = lines.map(({ kind, text }) => ({ kind: inverse[kind] as HunkLine['kind'], text }));
          const crlf = before.includes('\r');
          try {
            const changed = applyHunks(before, [{ anchors: [], lines, atEnd: false }]);
            if (!crlf) expect(changed).toBe(after);
            const restored = applyHunks(changed, [{ anchors: [], lines: back, atEnd: false }]);
            if (!crlf && !after.includes('\r')) expect(restored).toBe(before);
          } catch (error) {
            expect(error).toBeInstanceOf(EditError);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});
