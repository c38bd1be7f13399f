/** Fills a SQLite store with copies of its first run, until it has as many as wanted. The server must not run. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What differs from the original; every other column is copied. */
const OWN_COLUMNS: Readonly<Record<string, string>> = {
  n: 'copy.n',
  run_id: "printf('run_%032x', copy.n)",
  session_id: "printf('run_%032x', copy.n)",
  // Measured already, as old runs are.
  bytes: '1000',
};

export function copyRuns(dataDir: string, wanted: number): void {
  const db = new DatabaseSync(join(dataDir, 'talaria.db'));
  try {
    // Nothing here has to survive a crash.
    db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; BEGIN');
    const { stored } = db.prepare('SELECT max(n) AS stored FROM runs').get() as { stored: number };
    const copies = `WITH RECURSIVE copy (n) AS (SELECT ${stored + 1} UNION ALL SELECT n + 1 FROM copy WHERE n < ${wanted})`;
    const columns = db
      .prepare("SELECT name FROM pragma_table_info('runs')")
      .all()
      .map(({ name }) => String(name));
    const values = columns.map((name) => OWN_COLUMNS[name] ?? `original.${name}`);
    db.exec(`INSERT INTO runs (${columns.join(', ')}) ${copies}
      SELECT ${values.join(', ')} FROM copy JOIN runs original ON original.n = 1`);
    db.exec(`INSERT INTO records (run, pos, seq, event, at, public, private) ${copies}
      SELECT copy.n, pos, seq, event, at, public, private FROM copy JOIN records ON run = 1`);
    db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}
