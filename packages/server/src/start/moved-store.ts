/** Opens both ends of a move: besides configured-store.ts, the only place that names the drivers of stores. */
import type { Database } from '../config/index.ts';
import type { SourceEnd, TargetEnd } from '../journal/moving/store-ends.ts';

export async function openSource(database: Database): Promise<SourceEnd> {
  if (database.kind === 'sqlite') {
    const { SqliteSource } = await import('../journal/sqlite/sqlite-source.ts');
    return SqliteSource.open(database.path);
  }
  const { PostgresSource } = await import('../journal/postgres/postgres-source.ts');
  return PostgresSource.open(database.url);
}

export async function openTarget(database: Database): Promise<TargetEnd> {
  if (database.kind === 'sqlite') {
    const { SqliteTarget } = await import('../journal/sqlite/sqlite-target.ts');
    return SqliteTarget.open(database.path);
  }
  const { PostgresTarget } = await import('../journal/postgres/postgres-target.ts');
  return PostgresTarget.open(database.url);
}
