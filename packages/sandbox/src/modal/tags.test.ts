import { expect, test } from 'vitest';
import { labelled, labelTags, tagsOf } from './tags.ts';

const labels = {
  'talaria.server': '4d1c6d2e-0000-4000-8000-000000000000',
  'talaria.lease': '/home/somebody/ä b/.sandbox/modal/instance-1/lease',
};

test('labels and names come back from tags as they were', () => {
  expect(labelled(tagsOf('talaria-1', labels))).toEqual({ name: 'talaria-1', labels });
});

test('tags have only characters that every service takes', () => {
  for (const [tag, value] of Object.entries(tagsOf('talaria-1', labels)))
    expect(`${tag}${value}`).toMatch(/^[\w-]+$/);
});

test('a search for a label uses the tag that it was given', () => {
  const all = tagsOf('talaria-1', labels);
  expect(all).toMatchObject(labelTags({ 'talaria.server': labels['talaria.server'] }));
});

test('a sandbox with foreign tags does not count as ours', () => {
  expect(labelled({ team: 'blue' })).toBeUndefined();
});
