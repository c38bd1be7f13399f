import type { Static } from 'typebox';
import type * as schemas from './schemas/completions.ts';

export type CompletionRequest = Static<typeof schemas.CompletionRequestSchema>;
export type Completion = Static<typeof schemas.CompletionSchema>;
export type EmbeddingRequest = Static<typeof schemas.EmbeddingRequestSchema>;
export type EmbeddingList = Static<typeof schemas.EmbeddingListSchema>;
