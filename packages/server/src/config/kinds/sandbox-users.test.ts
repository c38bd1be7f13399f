import { expect, it } from 'vitest';
import { load } from '../testing/load.ts';

const given = (value: string) => load({ env: { TALARIA_SANDBOX_USERS: value } }).config.sandboxUsers;

it('takes a word or a range', () => {
  expect(['auto', ' Shared ', '200000-265535'].map(given)).toEqual([
    'auto',
    'shared',
    { first: 200_000, last: 265_535 },
  ]);
});

it.each(['root', '5-10', '300000-200000', '1000', '2000-4294967295', '-1-5000'])('refuses %s', (value) => {
  expect(() => given(value)).toThrow(/TALARIA_SANDBOX_USERS/);
});
