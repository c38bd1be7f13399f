import { readFileSync } from 'node:fs';
import { RUN_FAILURE_STATUS } from '@talaria/protocol';
import { expect, test } from 'vitest';
import { GENERATED } from '../../docs/tables/generated.ts';
import { replaceMarkedPart } from '../../docs/tables/marked-part.ts';

test.each(Object.entries(GENERATED))('%s says what the code says (else: npm run docs)', (path, generate) => {
  const present = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  expect(present).toBe(generate(present));
});

test('a marked part is replaced, and nothing else', () => {
  const document = 'before\n<!-- a:begin -->\nold\n<!-- a:end -->\nafter\n';
  expect(replaceMarkedPart(document, 'a', 'new\n')).toBe(document.replace('old', 'new'));
  expect(() => replaceMarkedPart(document, 'b', '')).toThrow('no part "b"');
});

test('docs/errors.md names the status of a failed run', () => {
  const document = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
  expect(document).toContain(`with the status ${RUN_FAILURE_STATUS}`);
});
