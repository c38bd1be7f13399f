/** The part of the SQLite driver that keeps answered questions and grants. */
import {
  type Approvals,
  type DecisionFilter,
  type DecisionPage,
  GRANT_USE_MS,
  type GrantPage,
} from '../approvals.ts';
import type { ApprovalsReader } from './approvals-reader.ts';
import type { WriterClient } from './writer-client.ts';

export class SqliteApprovals implements Approvals {
  readonly #writer: WriterClient;
  readonly #reader: ApprovalsReader;
  readonly #now: () => number;

  constructor(writer: WriterClient, reader: ApprovalsReader, now: () => number) {
    this.#writer = writer;
    this.#reader = reader;
    this.#now = now;
  }

  async decisions(filter: DecisionFilter): Promise<DecisionPage> {
    return this.#reader.decisions(filter);
  }

  async allows(owner: string, sessionId: string, patternKeys: readonly string[]): Promise<boolean> {
    const granted = this.#reader
      .granted(owner, sessionId)
      .filter(({ pattern_key }) => patternKeys.includes(pattern_key));
    const keys = new Set(granted.map((row) => row.pattern_key));
    if (!patternKeys.every((key) => keys.has(key))) return false;
    const isStale = (usedAt: number | null): boolean => (usedAt ?? 0) <= this.#now() - GRANT_USE_MS;
    if (granted.some((row) => isStale(row.last_used_at))) {
      await this.#writer.write.approvals.used(owner, sessionId, patternKeys);
    }
    return true;
  }

  async grants(filter: DecisionFilter): Promise<GrantPage> {
    return this.#reader.grants(filter);
  }

  revoke(owner: string, grantId: string): Promise<boolean> {
    return this.#writer.write.approvals.revoke(owner, grantId);
  }
}
