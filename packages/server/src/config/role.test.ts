import { expect, it } from 'vitest';
import { load, problemsOf } from './testing/load.ts';

const POSTGRES = { TALARIA_DATABASE_URL: 'postgres://talaria@db.example.com/talaria' };

it('is all by default', () => {
  expect(load().config.role).toBe('all');
  expect(load({ argv: ['--role', 'http'], env: POSTGRES }).config.role).toBe('http');
  expect(load({ env: { ...POSTGRES, TALARIA_ROLE: 'work' } }).config.role).toBe('work');
});

it.each([
  ['http', 'a worker'],
  ['work', 'runs'],
])('%s is refused on SQLite, where it would wait for %s forever', (role, missing) => {
  expect(problemsOf({ argv: ['--role', role] })).toEqual([
    `--role is "${role}" and the database is SQLite, which one process has to itself: it would wait for ${missing} ` +
      'that cannot come; set TALARIA_DATABASE_URL to a Postgres database, or leave the role at all',
  ]);
});

it('http does not check what only the work on runs needs', () => {
  const env = { ...POSTGRES, TALARIA_BACKEND: 'docker' };
  expect(problemsOf({ env })).toHaveLength(1);
  expect(problemsOf({ env: { ...env, TALARIA_ROLE: 'http' } })).toEqual([]);
});
