/** Run heads by id. Several sources tell of the same run (lists, the feed, other tabs); the newest head wins. */
import type { Run } from '@talaria/client';

export type Heads = ReadonlyMap<string, Run>;

/** Beyond this many, the oldest finished runs are forgotten: a page that stays open for weeks does not grow. */
const KEPT = 2_000;

export function withHeads(heads: Heads, changed: readonly Run[]): Heads {
  const news = changed.filter((run) => {
    const known = heads.get(run.run_id);
    return known === undefined || isNewer(run, known);
  });
  if (news.length === 0) return heads;
  const next = new Map(heads);
  for (const run of news) next.set(run.run_id, run);
  return next.size <= KEPT ? next : newest(next);
}

/** `last_seq` decides where both have one: two changes may share a time. After its eviction a run does not change. */
export function isNewer(run: Run, than: Run): boolean {
  if (run.evicted !== than.evicted) return run.evicted === true;
  const [seq, known] = [run.last_seq ?? -1, than.last_seq ?? -1];
  return seq === known ? (run.updated_at ?? 0) > (than.updated_at ?? 0) : seq > known;
}

function newest(heads: Heads): Heads {
  const byAge = [...heads.values()].sort((a, b) => b.updated_at - a.updated_at);
  return new Map(byAge.slice(0, KEPT).map((run) => [run.run_id, run]));
}
