/** `POST /v1/chat/completions`: a run in OpenAI's dialect (PROTOCOL.md). */
import {
  type CreateChat,
  NO_USAGE,
  parseCreateChat,
  parseIdempotencyKey,
  parseObject,
} from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import type { Submission } from '../../engine/submissions.ts';
import type { Journal } from '../../journal/journal.ts';
import { ChatAnswer } from '../chat/chat-answer.ts';
import { ChatChunks } from '../chat/chat-chunks.ts';
import { chatHead } from '../chat/chat-head.ts';
import { readTakenBack } from '../chat/taken-back.ts';
import { hasNamedFrames, isHermesClient, readsErrorsAlone } from '../inline/client-traits.ts';
import type { ContinuedRuns } from '../inline/continued-runs.ts';
import { type InlineRuns, inlineIdempotency } from '../inline/inline-runs.ts';
import { sendRunFailure } from '../inline/run-failure.ts';
import { readSessionHeaders } from '../inline/session-headers.ts';
import { header } from '../requests/header.ts';
import { parseJsonBody } from '../requests/json-body.ts';
import { parseTraceparent } from '../requests/traceparent.ts';

export interface ChatRouteOptions {
  engine: Engine;
  /** The log of a run is read from here. */
  journal: Pick<Journal, 'readLog'>;
  inline: InlineRuns;
  continued: ContinuedRuns;
  modelName: string;
  keyConfigured: boolean;
  /** Whether streams show approval requests as text. */
  tellApprovals: boolean;
}

export function installChatRoutes(app: FastifyInstance, options: ChatRouteOptions): void {
  const { engine, journal, inline, continued, modelName, keyConfigured, tellApprovals } = options;

  app.post('/v1/chat/completions', { config: { startsWork: true } }, async (request, reply) => {
    const { owner, headers } = request;
    const body = parseObject(parseJsonBody(request.body));
    const key = parseIdempotencyKey(header(request, 'idempotency-key'));
    const session = readSessionHeaders(request, keyConfigured);
    const asked = parseCreateChat(body);
    const { model = modelName, stream, outputs, asFunctions } = asked;
    const before = outputs.length === 0 ? undefined : await continued.continue(owner, outputs, { asked });
    const started = await inline.start(reply, {
      owner,
      session,
      submit: async () =>
        before === undefined
          ? engine.submissions.submit(
              owner,
              toSubmission(asked, session.sessionId),
              inlineIdempotency('chat', key, { body, session }),
              parseTraceparent(header(request, 'traceparent')),
            )
          : { run_id: before.run.run_id, status: before.run.status, replayed: false },
    });
    const { run_id: runId } = started.run;
    const { afterSeq, usageBefore } = before ?? { afterSeq: -1, usageBefore: NO_USAGE };
    const head = chatHead(started.run, model, afterSeq);
    if (stream) {
      const isRepeated = started.replayed || before !== undefined;
      const chunks = new ChatChunks({
        runId,
        usageBefore,
        asFunctions,
        head,
        takenBack: isRepeated ? await readTakenBack(journal, runId) : [],
        namedFrames: hasNamedFrames(headers),
        errorsAlone: readsErrorsAlone(headers),
        tellsApprovals: tellApprovals && asked.outputForm === undefined && !isHermesClient(headers),
      });
      inline.stream(reply, started, chunks, { after: afterSeq });
      return;
    }
    const answer = new ChatAnswer({ runId, usageBefore, asFunctions });
    if (!(await inline.readToEnd(reply, started, (event) => answer.take(event), afterSeq))) return;
    const result = answer.result(head);
    return 'failure' in result ? sendRunFailure(reply, result.failure) : result.completion;
  });
}

function toSubmission(asked: CreateChat, sessionId: string | undefined): Submission {
  const { prompt, history, followUp, instructions, clientTools, outputForm, settings } = asked;
  return {
    prompt,
    instructions,
    // A named session has its own transcript.
    history: sessionId === undefined && history.length > 0 ? history : undefined,
    followUp,
    sessionId,
    previousResponseId: undefined,
    clientTools,
    outputForm,
    settings,
    inline: true,
  };
}
