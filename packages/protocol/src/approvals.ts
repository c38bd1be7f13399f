import type { Static } from 'typebox';
import type * as schemas from './schemas/approvals.ts';

export type Approval = Static<typeof schemas.ApprovalSchema>;
export type ApprovalList = Static<typeof schemas.ApprovalListSchema>;
export type Grant = Static<typeof schemas.GrantSchema>;
export type GrantList = Static<typeof schemas.GrantListSchema>;
export type GrantDeleted = Static<typeof schemas.GrantDeletedSchema>;
