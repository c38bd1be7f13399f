import { expect, it } from 'vitest';
import { StatementRefused } from './database.ts';
import { GroupCommit } from './group-commit.ts';

it('requests that come during a transaction go into the next one together', async () => {
  const groups: number[][] = [];
  const first = Promise.withResolvers<void>();
  const commits = new GroupCommit<number, number>(async (group) => {
    groups.push(group);
    if (groups.length === 1) await first.promise;
    return group.map((value) => ({ value }));
  });
  const asked = [commits.submit(1)];
  await Promise.resolve();
  asked.push(commits.submit(2), commits.submit(3));
  first.resolve();
  expect(await Promise.all(asked)).toEqual([1, 2, 3]);
  expect(groups).toEqual([[1], [2, 3]]);
});

it('one that the database refuses fails alone', async () => {
  const commits = new GroupCommit<number, number>(async (group) => {
    if (group.includes(2)) throw new StatementRefused(new Error('no'));
    return group.map((value) => ({ value }));
  });
  const outcomes = await Promise.allSettled([1, 2, 3].map((request) => commits.submit(request)));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('a group fails together, once, when the database is unavailable', async () => {
  let commits = 0;
  const away = new GroupCommit<number, number>(async () => {
    commits += 1;
    throw new Error('away');
  });
  const outcomes = await Promise.allSettled([1, 2, 3].map((request) => away.submit(request)));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(commits).toBe(1);
});

it('a group that carries much is divided, and one that carries more than a group may goes alone', async () => {
  const MB = 1024 * 1024;
  const groups: number[][] = [];
  const commits = new GroupCommit<number, number>(
    async (group) => {
      groups.push(group);
      return group.map((value) => ({ value }));
    },
    (request) => request * MB,
  );
  await Promise.all([1, 2, 3, 9, 0, 4].map((request) => commits.submit(request)));
  expect(groups).toEqual([[1, 2], [3], [9], [0, 4]]);
});
