/** The tables of docs/clients.md: a mark is a test's result, and nothing is marked without a test. */
import { expect, test } from 'vitest';
import { clientTable, replaceBetween, serverTable } from './docs-tables.ts';

test('a cell names the APIs that work, strikes out those that do not, and is empty if nothing was tried', () => {
  const shown = [
    { capability: 'chat: text', ok: true },
    { capability: 'responses: text', ok: true },
    { capability: 'chat: stream', ok: false },
  ];
  const lines = clientTable([{ id: 'openai-7', name: 'openai', version: '7.0.0', shown }]).split('\n');
  expect(lines.slice(0, 5)).toEqual([
    '|  | openai 7.0.0 |',
    '| --- | --- |',
    '| text | chat, responses |',
    '| stream | ~~chat~~ |',
    '| server tools |  |',
  ]);
});

test('our own server comes first, and a topic that was not looked at has no figure', () => {
  const topic = (passed: number, failed: number, skipped: number) => ({
    topic: 'Jobs',
    passed,
    failed,
    skipped,
  });
  const reference = { name: 'hermes-agent', version: '1', topics: [topic(0, 0, 3)] };
  const own = { name: 'talaria', version: '2', topics: [topic(2, 1, 0)] };
  expect(serverTable([reference, own]).split('\n')).toEqual([
    '|  | talaria 2 | hermes-agent 1 |',
    '| --- | --- | --- |',
    '| Jobs | 2 of 3 |  |',
  ]);
});

test('only what is between the markers is replaced', () => {
  const page = 'before\n<!-- x:begin -->\nold\n<!-- x:end -->\nafter\n';
  expect(replaceBetween(page, 'x', 'new')).toBe('before\n<!-- x:begin -->\nnew\n<!-- x:end -->\nafter\n');
  expect(() => replaceBetween(page, 'y', 'new')).toThrow('no markers');
});
