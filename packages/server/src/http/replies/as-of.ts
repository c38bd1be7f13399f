/**
 * Files as they were after an event (`?at=<seq>`), for the routes of artifacts. They come from a checkpoint, so no server has to
 * be asked that has the workspace. What the response reflects is in a header, and in a listing also in its fields.
 */
import type { ArtifactList } from '@talaria/protocol';
import type { WorkspaceReader } from '@talaria/sandbox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CheckpointReader } from '../../checkpoints/checkpoint-reader.ts';
import type { CheckpointFiles } from '../../checkpoints/checkpoint-tree.ts';
import type { RunCheckpoints } from '../../engine/run-checkpoints.ts';
import { eventSeq } from '../requests/query.ts';

/** What a listing says about the checkpoint that it shows. */
export type AsOf = Pick<ArtifactList, 'as_of_seq' | 'omitted' | 'omitted_count'>;

export async function answerAsOf(
  checkpoints: RunCheckpoints,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  here: (files: WorkspaceReader, asOf: AsOf) => Promise<unknown>,
): Promise<unknown> {
  const files = await checkpoints.at(eventSeq(request.query, 'at')!, 'at');
  reply.header('x-talaria-as-of-seq', files.asOfSeq);
  return here(new CheckpointReader(files), toAsOf(files));
}

function toAsOf({ asOfSeq, omitted, omittedCount }: CheckpointFiles): AsOf {
  if (omittedCount === 0) return { as_of_seq: asOfSeq };
  return {
    as_of_seq: asOfSeq,
    omitted: omitted.map(({ path, reason }) => ({ path, reason })),
    omitted_count: omittedCount,
  };
}
