import { expect, test } from 'vitest';
import { requestIdOf } from './request-id.ts';

const idOf = (given?: string) => requestIdOf({ headers: { 'x-request-id': given } });

test.each(['7f3c', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00-4bf92f35:1/a+b=@_.', 'x'.repeat(128)])(
  "keeps the client's id %s",
  (id) => expect(idOf(id)).toBe(id),
);

test.each([undefined, '', 'two words', 'a"b', 'ü', 'x'.repeat(129), 'a\tb'])(
  'makes an id if the client gives none or a malformed one: %s',
  (id) => expect(idOf(id)).toMatch(/^req_[0-9a-f]{32}$/),
);

test('makes a different id each time', () => expect(idOf()).not.toBe(idOf()));
