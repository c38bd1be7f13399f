import { expect, test } from 'vitest';
import { unifiedLines } from './unified-diff.ts';

const PATCH = `diff --git a/a.sql b/a.sql
index 1111111..2222222 100644
--- a/a.sql
+++ b/a.sql
@@ -1,3 +1,3 @@ select
 one
--- a comment
+-- another
 three
@@ -9 +9,2 @@
-nine
+nine and
+ten
\\ No newline at end of file
`;

test('lines have their numbers, and what looks like a header inside a place is a line', () => {
  expect(unifiedLines(PATCH)).toEqual([
    { kind: 'place', text: '@@ -1,3 +1,3 @@ select' },
    { kind: 'same', text: 'one', before: 1, after: 1 },
    { kind: 'removed', text: '-- a comment', before: 2 },
    { kind: 'added', text: '-- another', after: 2 },
    { kind: 'same', text: 'three', before: 3, after: 3 },
    { kind: 'place', text: '@@ -9 +9,2 @@' },
    { kind: 'removed', text: 'nine', before: 9 },
    { kind: 'added', text: 'nine and', after: 9 },
    { kind: 'added', text: 'ten', after: 10 },
    { kind: 'place', text: '\\ No newline at end of file' },
  ]);
});

test('a patch without lines has none', () => {
  expect(unifiedLines('diff --git a/x b/x\nold mode 100644\nnew mode 100755\n')).toEqual([]);
  expect(unifiedLines('')).toEqual([]);
});
