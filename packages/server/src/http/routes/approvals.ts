/** `/v1/approvals` and `/v1/grants`: questions to people across runs, and what their answers allow (PROTOCOL.md). */
import { TalariaError } from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import type { ApprovalLists, ListApprovals } from '../../engine/approval-lists.ts';
import { pageLimit, single } from '../requests/query.ts';

export function installApprovalRoutes(app: FastifyInstance, approvals: ApprovalLists): void {
  app.get('/v1/approvals', async ({ owner, query }) =>
    approvals.list(owner, {
      status: parseStatus(single(query, 'status')),
      limit: pageLimit(query),
      after: single(query, 'after'),
    }),
  );

  app.get('/v1/grants', async ({ owner, query }) =>
    approvals.grants(owner, { limit: pageLimit(query), after: single(query, 'after') }),
  );

  app.delete<{ Params: { grant_id: string } }>('/v1/grants/:grant_id', async ({ owner, params }) => {
    await approvals.revoke(owner, params.grant_id);
    return { object: 'hermes.grant', id: params.grant_id, deleted: true };
  });
}

function parseStatus(value: string | undefined): ListApprovals['status'] {
  if (value === undefined || value === 'pending' || value === 'answered') return value;
  throw new TalariaError('invalid_request', {
    message: "'status' must be pending or answered",
    param: 'status',
  });
}
