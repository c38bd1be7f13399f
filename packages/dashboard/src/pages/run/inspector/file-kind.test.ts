import { expect, test } from 'vitest';
import { endingOf, imageType, kindOf } from './file-kind.ts';

test('the name decides how a file is shown', () => {
  expect(
    ['a.PNG', 'b/README.md', 'x.csv', 'y.tsv', 'Makefile', '.env', 'a.tar.gz', 'main.py'].map(kindOf),
  ).toEqual(['image', 'markdown', 'csv', 'tsv', 'text', 'text', 'other', 'text']);
  expect(imageType('photo.jpeg')).toBe('image/jpeg');
});

test('documents that can hold script are text', () => {
  expect(['a.svg', 'a.html', 'a.xhtml', 'constructor'].map(kindOf)).toEqual(['text', 'text', 'text', 'text']);
  expect(endingOf('dir.d/file')).toBe('');
});
