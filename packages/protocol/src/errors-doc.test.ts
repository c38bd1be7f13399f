import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { API_ERRORS, RUN_FAILURE_STATUS, RUN_FAILURES } from './errors.ts';

const document = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');

it('docs/errors.md lists exactly the codes there are, as they are', () => {
  const rows = document.split('\n').filter((line) => line.startsWith('| `'));
  const expected = [
    ...Object.entries(API_ERRORS).map(
      ([code, { status, retryable, message }]) =>
        `| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${message} |`,
    ),
    ...Object.entries(RUN_FAILURES).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`),
  ];
  expect(rows).toEqual(expected);
  expect(document).toContain(`with the status ${RUN_FAILURE_STATUS}`);
});
