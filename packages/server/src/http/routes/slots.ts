/** `/v1/slots`: the sandbox without the agent (PROTOCOL.md, "Slots"). */
import { finished } from 'node:stream';
import {
  parseAcquireSlot,
  parseExecuteSlots,
  parseReleaseSlot,
  type SlotList,
  type SlotReleased,
  TalariaError,
} from '@talaria/protocol';
import type { TrajectoryWorkspaces } from '@talaria/sandbox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { atMost } from '../../basics/at-most.ts';
import type { ClientSlots, SlotCall } from '../../slots/client-slots.ts';
import { withSandboxCodes } from '../../slots/sandbox-failure.ts';
import { toTalariaError } from '../replies/errors.ts';
import { parseJsonBody, parseOptionalJsonBody } from '../requests/json-body.ts';
import { leaving } from '../requests/leaving.ts';
import { onClose } from '../requests/on-close.ts';
import { ResultStream } from '../slots/result-stream.ts';
import {
  readAsJson,
  type SlotFiles,
  sendWholeArchive,
  wantsJson,
  wantsWholeArchive,
} from '../slots/slot-files.ts';
import { installArtifactRoutes } from './artifacts.ts';

export interface SlotService {
  slots: ClientSlots;
  files: SlotFiles;
  workspaces: Pick<TrajectoryWorkspaces, 'open'>;
  mask(text: string): string;
}

/** How long a closing server waits until finished answers are sent. */
const LAST_ANSWERS_MS = 1_000;

/** The slots to serve, or the code of the reason why this process serves none. */
export type SlotSource = SlotService | 'slots_unavailable' | 'no_sandbox';

export function installSlotRoutes(app: FastifyInstance, source: SlotSource): void {
  const service = (): SlotService => {
    if (typeof source === 'string') throw new TalariaError(source);
    return source;
  };
  const answer = <T>(work: (service: SlotService) => Promise<T>): Promise<T> => {
    const found = service();
    return withSandboxCodes(found.mask, () => work(found));
  };

  const answers = new Set<Promise<void>>();
  /** When the server closes, a batch has had its time; its results are sent first. */
  const beforeClose = (reply: FastifyReply): void => {
    const sent = new Promise<void>((resolve) => finished(reply.raw, () => resolve()));
    answers.add(sent);
    void sent.then(() => answers.delete(sent));
  };
  app.addHook('preClose', () => atMost(LAST_ANSWERS_MS, Promise.all(answers)));

  app.post('/v1/slots', { config: { startsWork: true } }, async (request, reply) =>
    answer(({ slots }) => {
      const trajectoryId = parseAcquireSlot(parseOptionalJsonBody(request.body));
      return slots.acquire(request.owner, trajectoryId, leaving(reply));
    }),
  );

  app.get('/v1/slots', async (request): Promise<SlotList> => {
    const { slots } = service();
    return { object: 'list', data: slots.list(request.owner), stats: slots.stats(request.owner) };
  });

  app.post('/v1/slots/execute', { config: { startsWork: true } }, async (request, reply) =>
    answer(async (found) => {
      const { slots } = found;
      const { calls, timeoutS } = parseExecuteSlots(parseJsonBody(request.body), slots.defaultTimeoutS);
      slots.expectKnown(request.owner, calls);
      beforeClose(reply);
      const signal = leaving(reply);
      if (wantsEvents(request)) return streamResults(found, request, reply, calls, { timeoutS, signal });
      return { results: await slots.execute(request.owner, calls, { timeoutS, signal }) };
    }),
  );

  app.post<{ Params: { slot_id: string } }>('/v1/slots/:slot_id/release', async (request) =>
    answer(async ({ slots }): Promise<SlotReleased> => {
      const { slot_id: id } = request.params;
      slots.expectKnown(request.owner, [{ slotId: id }]);
      const options = parseReleaseSlot(parseOptionalJsonBody(request.body));
      return { id, released: true, ...(await slots.release(request.owner, id, options)) };
    }),
  );

  installArtifactRoutes(app, {
    prefix: '/v1/slots',
    holder: 'slot_id',
    options: {},
    answer: ({ request, reply, id, question }, here) =>
      answer(async ({ slots, files, workspaces }) => {
        const inUse = slots.use(request.owner, id);
        // The slot is in use until the last byte is sent.
        onClose(reply, () => inUse[Symbol.dispose]());
        const { query } = request;
        if (question === 'content' && wantsJson(query)) return readAsJson(files, inUse.slot, query);
        if (question === 'archive' && wantsWholeArchive(query)) {
          return sendWholeArchive(files, inUse.slot, query, reply);
        }
        return here(await workspaces.open(inUse.workspace));
      }),
  });
}

function wantsEvents({ headers }: FastifyRequest): boolean {
  return headers.accept?.toLowerCase().includes('text/event-stream') === true;
}

/** A failure after the stream has begun is reported in the stream. */
async function streamResults(
  { slots, mask }: SlotService,
  request: FastifyRequest,
  reply: FastifyReply,
  calls: readonly SlotCall[],
  options: { timeoutS: number | undefined; signal: AbortSignal },
): Promise<FastifyReply> {
  const stream = new ResultStream(reply);
  try {
    await withSandboxCodes(mask, () =>
      slots.execute(request.owner, calls, {
        ...options,
        onResult: (result, index) => stream.send(index, result),
      }),
    );
    stream.done();
  } catch (error) {
    stream.fail(toTalariaError(error as Error & { code: string }));
  }
  return reply;
}
