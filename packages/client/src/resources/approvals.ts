/** `/v1/approvals` and `/v1/grants`: questions to people across runs, and what their answers allow. */
import type { Approval, ApprovalList, Grant, GrantDeleted, GrantList } from '@talaria/protocol';
import { isPage, type PageQuery, Pages } from '../pages.ts';
import { type RequestOptions, segment, type Transport } from '../transport.ts';

export interface ApprovalFilter extends PageQuery {
  /** Both by default: first those that wait, then the answered ones. */
  status?: 'pending' | 'answered' | undefined;
}

export class Approvals {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. Answer one with `runs.respondApproval`. */
  list(filter: ApprovalFilter = {}, options?: RequestOptions): Pages<Approval, ApprovalList> {
    return new Pages(filter, (query) =>
      this.#transport.json<ApprovalList>(
        { method: 'GET', path: '/v1/approvals', query: { ...query }, fits: isPage, repeat: true },
        options,
      ),
    );
  }
}

export class Grants {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. */
  list(query: PageQuery = {}, options?: RequestOptions): Pages<Grant, GrantList> {
    return new Pages(query, (page) =>
      this.#transport.json<GrantList>(
        { method: 'GET', path: '/v1/grants', query: { ...page }, fits: isPage, repeat: true },
        options,
      ),
    );
  }

  /** From now on the grant allows nothing. */
  revoke(grantId: string, options?: RequestOptions): Promise<GrantDeleted> {
    const call = { method: 'DELETE', path: `/v1/grants/${segment(grantId)}`, repeat: true } as const;
    return this.#transport.json<GrantDeleted>(call, options);
  }
}
