import { expect, test } from 'vitest';
import { decodeEntities } from './entities.ts';

test('references become characters; what is none stays', () => {
  expect(decodeEntities('&lt;b&gt; &amp;amp; &#65;&#x1F600; &unknown; &#0; &#xD800; AT&T')).toBe(
    '<b> &amp; A😀 &unknown; &#0; &#xD800; AT&T',
  );
});
