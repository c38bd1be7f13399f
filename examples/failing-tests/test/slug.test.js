import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slug } from '../src/slug.js';

test('words are joined with dashes', () => {
  assert.equal(slug('Make the tests pass'), 'make-the-tests-pass');
});

test('what is no letter or digit becomes one dash, however much it is', () => {
  assert.equal(slug('Hello, World'), 'hello-world');
});

test('no dash is left at the ends', () => {
  assert.equal(slug('¿Qué?'), 'qu');
});
