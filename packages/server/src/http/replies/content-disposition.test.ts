import { expect, it } from 'vitest';
import { attachment } from './content-disposition.ts';

it.each([
  ['report.csv', 'attachment; filename="report.csv"'],
  ['two words.txt', 'attachment; filename="two words.txt"'],
  ['a"b.txt', `attachment; filename="a_b.txt"; filename*=UTF-8''a%22b.txt`],
  ['100%.txt', `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`],
  ['日本.txt', `attachment; filename="__.txt"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt`],
  ["it's (1)*é", `attachment; filename="it's (1)*_"; filename*=UTF-8''it%27s%20%281%29%2A%C3%A9`],
  ['a\r\nX-Evil: 1', 'attachment; filename="a__X-Evil: 1"'],
  ['..\\..\\evil', 'attachment; filename=".._.._evil"'],
  ['a/b', 'attachment; filename="a_b"'],
  ['', 'attachment; filename="_"'],
  ['\ud800', `attachment; filename="_"; filename*=UTF-8''%EF%BF%BD`],
])('the name %j', (name, expected) => {
  expect(attachment(name)).toBe(expected);
});
