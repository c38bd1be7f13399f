import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { counting } from '../testing/records.ts';
import { migrate } from './migrations.ts';
import { OutboxWriter } from './outbox-writer.ts';
import { statementsOf } from './statements.ts';

const NOW = 1_000_000;
const LATER = NOW + 3_600_000;
const CLAIM = { leaseMs: 60_000, limit: 1, perReceiver: 4 };

let db: DatabaseSync;
let outbox: OutboxWriter;
let asked: number;
let n: number;

beforeEach(() => {
  db = new DatabaseSync(':memory:');
  migrate(db);
  const statement = statementsOf(db);
  outbox = new OutboxWriter((sql) => {
    asked += 1;
    return statement(sql);
  });
  asked = 0;
  n = 0;
});
afterEach(() => db.close());

function addMessage(host: string, dueAt: number): void {
  n += 1;
  const receiver = `https://${host}.example.com`;
  db.prepare("INSERT INTO webhooks (run_id, url, secret_kind) VALUES (?, ?, 'none')").run(
    `run_${n}`,
    receiver,
  );
  db.prepare(
    "INSERT INTO webhook_messages (id, run_id, receiver, body, created_at, due_at) VALUES (?, ?, ?, '{}', ?, ?)",
  ).run(`evt_${n}`, `run_${n}`, receiver, NOW, dueAt);
}

it.each([
  ['wait for another attempt', LATER],
  ['have something due', NOW],
])('a claim does not look at each of 2000 receivers that %s', (_, dueAt) => {
  for (const i of counting(2000)) addMessage(`h${i}`, dueAt);
  addMessage('due', NOW - 1);
  expect(outbox.claim(CLAIM, NOW)).toMatchObject([{ url: 'https://due.example.com' }]);
  expect(asked).toBeLessThan(500);
});

it('a receiver without messages in progress comes before others that have more and older messages', () => {
  for (const _ of counting(300)) for (const host of ['a', 'b']) addMessage(host, NOW - 10);
  addMessage('quiet', NOW);
  expect(outbox.claim({ ...CLAIM, limit: 2 }, NOW - 5)).toHaveLength(2);
  expect(outbox.claim(CLAIM, NOW)).toMatchObject([{ url: 'https://quiet.example.com' }]);
});

it('a receiver without room delays nobody, however many messages it was sent before', () => {
  for (const _ of counting(1000)) addMessage('slow', NOW - 10);
  addMessage('quick', NOW);
  expect(outbox.claim({ ...CLAIM, limit: 4 }, NOW - 5)).toHaveLength(4);
  expect(outbox.claim({ ...CLAIM, limit: 64 }, NOW)).toMatchObject([{ url: 'https://quick.example.com' }]);
  expect(outbox.claim({ ...CLAIM, limit: 64 }, NOW)).toEqual([]);
});
