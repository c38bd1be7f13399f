/**
 * Floors of the rows about several servers: what Postgres itself does with the same work, through the server's own
 * library, over one connection.
 */
import pg from 'pg';
import { median } from '../statistics.ts';

const TEXT = JSON.stringify({ delta: ' a few words of what a model says' });

/** Rows per second: many in a statement, each statement a commit, the next when the last is durable. */
export async function insertRate(url: string, rows: number, atOnce: number): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    // These columns are the ones that the journal writes for an event.
    await client.query(`CREATE TABLE IF NOT EXISTS bare_records (
      run bigint NOT NULL, pos integer NOT NULL, seq integer, event text NOT NULL, at bigint NOT NULL, public text,
      private text, PRIMARY KEY (run, pos))`);
    const { rows: last } = await client.query(
      'SELECT coalesce(max(run), 0)::integer AS run FROM bare_records',
    );
    const run = last[0].run + 1;
    const startedAt = performance.now();
    for (let pos = 0; pos < rows; pos += atOnce) {
      const all = Array.from({ length: atOnce }, (_, i) => pos + i);
      await client.query(
        `INSERT INTO bare_records
         SELECT * FROM unnest ($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::bigint[], $6::text[], $7::text[])`,
        [
          all.map(() => run),
          all,
          all,
          all.map(() => 'message.delta'),
          all.map(() => Date.now()),
          all.map(() => TEXT),
          all.map(() => null),
        ],
      );
    }
    return rows / ((performance.now() - startedAt) / 1000);
  } finally {
    await client.end();
  }
}

/** From NOTIFY on one connection to its arrival on another, in ms: the median of this many, one at a time. */
export async function notifyLatency(url: string, count: number, everyMs: number): Promise<number> {
  const [sender, listener] = [new pg.Client(url), new pg.Client(url)];
  await Promise.all([sender.connect(), listener.connect()]);
  try {
    await listener.query('LISTEN bench');
    const times: number[] = [];
    for (let i = 0; i < count; i++) {
      const heard = new Promise<void>((resolve) => listener.once('notification', () => resolve()));
      const sentAt = performance.now();
      await sender.query("SELECT pg_notify('bench', $1)", [String(i)]);
      await heard;
      times.push(performance.now() - sentAt);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    return median(times);
  } finally {
    await Promise.all([sender.end(), listener.end()]);
  }
}
