/** The Postgres database: reachable, and empty or of a version this server knows. Nothing in it is changed. */
import { describeDatabase } from '../../../config/index.ts';
import { unfinishedMove } from '../../../journal/moving/unfinished-move.ts';
import { Database } from '../../../journal/postgres/database.ts';
import {
  ENCODING_REMEDY,
  encodingProblem,
  SCHEMA_VERSION,
  schemaVersion,
} from '../../../journal/postgres/migrations.ts';
import { moveState } from '../../../journal/postgres/move-mark.ts';
import type { Finding } from '../finding.ts';

export async function checkPostgres(database: { kind: 'postgres'; url: string }): Promise<Finding> {
  const name = `Postgres, ${describeDatabase(database)}`;
  const connection = new Database({ url: database.url, connections: 1 });
  try {
    const { problem, version, state } = await connection.transaction({ waitMs: 0 }, async (tx) => ({
      problem: await encodingProblem(tx),
      version: await schemaVersion(tx),
      state: await moveState(tx),
    }));
    if (problem !== undefined)
      return {
        status: 'failed',
        detail: `${name}: ${problem}`,
        fix: `Another one is needed: ${ENCODING_REMEDY}`,
      };
    const move = unfinishedMove(state);
    if (move !== undefined) return { status: 'failed', detail: `${name}: ${move.problem}`, fix: move.fix };
    if (version === 0)
      return { status: 'ok', detail: `${name}: empty; its tables will be made at the first start` };
    if (version <= SCHEMA_VERSION) return { status: 'ok', detail: name };
    return {
      status: 'failed',
      detail: `${name}: made by a newer version (schema ${version}, this one knows ${SCHEMA_VERSION})`,
      fix: 'Start the newer version',
    };
  } catch (error) {
    const { cause } = error as Error;
    return {
      status: 'failed',
      detail: `${name}: ${cause instanceof Error ? cause.message : (error as Error).message}`,
      fix: 'See that the database runs, that this machine can reach it, and that TALARIA_DATABASE_URL has its user and password',
    };
  } finally {
    await connection.close();
  }
}
