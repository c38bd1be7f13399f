/** `POST /v1/chat/completions`: a run, asked for and answered in OpenAI's words (PROTOCOL.md). */
import { parseCreateChat, parseIdempotencyKey, parseObject } from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import type { Journal } from '../../journal/journal.ts';
import { ChatAnswer } from '../chat/chat-answer.ts';
import { ChatChunks } from '../chat/chat-chunks.ts';
import { chatHead } from '../chat/chat-head.ts';
import { readTakenBack } from '../chat/taken-back.ts';
import { header } from '../header.ts';
import { type InlineRuns, inlineIdempotency } from '../inline/inline-runs.ts';
import { sendRunFailure } from '../inline/run-failure.ts';
import { readSessionHeaders } from '../inline/session-headers.ts';
import { parseJsonBody } from '../json-body.ts';
import { parseTraceparent } from '../traceparent.ts';

export interface ChatRouteOptions {
  engine: Engine;
  /** Where the log of a run is read. */
  journal: Pick<Journal, 'readLog'>;
  inline: InlineRuns;
  modelName: string;
  keyConfigured: boolean;
}

export function installChatRoutes(app: FastifyInstance, options: ChatRouteOptions): void {
  const { engine, journal, inline, modelName, keyConfigured } = options;

  app.post('/v1/chat/completions', { config: { startsWork: true } }, async (request, reply) => {
    const { owner } = request;
    const body = parseObject(parseJsonBody(request.body));
    const key = parseIdempotencyKey(header(request, 'idempotency-key'));
    const session = readSessionHeaders(request, keyConfigured);
    const { prompt, history, instructions, model = modelName, stream } = parseCreateChat(body);
    const started = await inline.start(reply, {
      owner,
      session,
      submit: () =>
        engine.submit(
          owner,
          {
            prompt,
            instructions,
            // A session that is named has its own transcript.
            history: session.sessionId === undefined && history.length > 0 ? history : undefined,
            sessionId: session.sessionId,
            previousResponseId: undefined,
          },
          inlineIdempotency('chat', key, { body, session }),
          parseTraceparent(header(request, 'traceparent')),
        ),
    });
    const head = chatHead(started.run, model);
    if (stream) {
      const { run_id } = started.run;
      const takenBack = started.replayed ? await readTakenBack(journal, run_id) : [];
      inline.stream(reply, started, new ChatChunks(run_id, head, takenBack));
      return;
    }
    const answer = new ChatAnswer();
    if (!(await inline.readToEnd(reply, started, (event) => answer.take(event)))) return;
    const result = answer.result(head);
    return 'failure' in result ? sendRunFailure(reply, result.failure) : result.completion;
  });
}
