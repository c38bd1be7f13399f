/** Approvals across runs, as clients see them: what waits, what was decided, and what is granted. */
import {
  type Approval,
  type ApprovalList,
  type Grant,
  type GrantList,
  TalariaError,
} from '@talaria/protocol';
import type { Decision, Grant as StoredGrant } from '../journal/approvals.ts';
import type { Journal } from '../journal/journal.ts';
import { type ShownWith, type StoredRun, toWireHead } from '../journal/run-state.ts';

/** The same limit as for a list of runs: their answers are read with them. */
const READ_CHARS_MAX = 4_000_000;

interface PageAsked {
  after?: string | undefined;
  limit: number;
}

export interface ListApprovals extends PageAsked {
  /** Both, if it is not given: first what waits, then what was decided. */
  status?: 'pending' | 'answered' | undefined;
}

interface Page {
  data: Approval[];
  next?: string | undefined;
}

export class ApprovalLists {
  readonly #journal: Journal;
  readonly #shownWith: ShownWith;

  constructor(journal: Journal, shownWith: ShownWith) {
    this.#journal = journal;
    this.#shownWith = shownWith;
  }

  async list(owner: string, { status, ...page }: ListApprovals): Promise<ApprovalList> {
    const read = { pending: this.#pending, answered: this.#answered, both: this.#both }[status ?? 'both'];
    const { data, next } = await read.call(this, owner, page);
    return { object: 'list', data, has_more: next !== undefined, next_cursor: next ?? null };
  }

  async grants(owner: string, page: PageAsked): Promise<GrantList> {
    const { grants, next } = await this.#journal.approvals.grants({ owner, ...page });
    return {
      object: 'list',
      data: grants.map(toWireGrant),
      has_more: next !== undefined,
      next_cursor: next ?? null,
    };
  }

  async revoke(owner: string, grantId: string): Promise<void> {
    const revoked = await this.#journal.approvals.revoke(owner, grantId);
    if (!revoked) throw new TalariaError('grant_not_found');
  }

  /** A cursor of one list does not open in the other, so it says by itself where the list of both continues. */
  async #both(owner: string, { after, limit }: PageAsked): Promise<Page> {
    if (after !== undefined) {
      try {
        return await this.#answered(owner, { after, limit });
      } catch (error) {
        if (!(error instanceof TalariaError) || error.code !== 'invalid_cursor') throw error;
      }
    }
    const pending = await this.#pending(owner, { after, limit });
    if (pending.next !== undefined) return pending;
    // One more than asked for, if the page is full: its cursor leads to the others.
    const left = Math.max(1, limit - pending.data.length);
    const answered = await this.#answered(owner, { limit: left });
    return { data: [...pending.data, ...answered.data], next: answered.next };
  }

  async #pending(owner: string, page: PageAsked): Promise<Page> {
    const { runs, next } = await this.#journal.listRuns({
      owner,
      statuses: ['waiting_for_approval'],
      maxChars: READ_CHARS_MAX,
      ...page,
    });
    return { data: runs.flatMap((run) => this.#question(run)), next };
  }

  async #answered(owner: string, page: PageAsked): Promise<Page> {
    const { decisions, next } = await this.#journal.approvals.decisions({ owner, ...page });
    return { data: decisions.map((decision) => this.#decision(decision)), next };
  }

  #question(run: StoredRun): Approval[] {
    const { approval } = run.state;
    if (approval === null) return [];
    const head = toWireHead(run, this.#shownWith);
    return [{ ...approval, object: 'hermes.approval', status: 'pending', run: head }];
  }

  #decision({ run, question, choice, ...answer }: Decision & { run: StoredRun }): Approval {
    const { answeredBy, answeredAt, message } = answer;
    return {
      ...question,
      object: 'hermes.approval',
      status: 'answered',
      run: toWireHead(run, this.#shownWith),
      choice,
      ...(answeredBy === null ? {} : { answered_by: answeredBy }),
      answered_at: answeredAt / 1000,
      ...(message === null ? {} : { message }),
    };
  }
}

function toWireGrant({ id, owner, sessionId, patternKey, createdAt, lastUsedAt }: StoredGrant): Grant {
  return {
    object: 'hermes.grant',
    id,
    scope: sessionId === undefined ? 'always' : 'session',
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    pattern_key: patternKey,
    created_at: createdAt / 1000,
    // A grant holds for the runs of one key, and only that key can give it.
    created_by: owner,
    last_used_at: lastUsedAt === null ? null : lastUsedAt / 1000,
  };
}
