import { expect, test } from 'vitest';
import { parseTraceparent } from './traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test.each([
  [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`],
  [` 00-${TRACE}-${SPAN}-00 `, `00-${TRACE}-${SPAN}-00`],
  // A later version, with a field that this one does not know.
  [`cc-${TRACE}-${SPAN}-01-what-is-to-come`, `00-${TRACE}-${SPAN}-01`],
])('%s is taken', (header, taken) => expect(parseTraceparent(header)).toBe(taken));

test.each([
  undefined,
  '',
  'garbage',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01`,
])('%s is ignored', (header) => expect(parseTraceparent(header)).toBeUndefined());
