/** `POST /api/sessions/{id}/chat` and `/chat/stream`: one turn of a session, answered by its run (PROTOCOL.md). */
import {
  type EventPayload,
  parseIdempotencyKey,
  parseObject,
  parseSessionChat,
  type SessionChatCompletion,
} from '@talaria/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { type InlineRuns, inlineIdempotency } from '../inline/inline-runs.ts';
import { sendRunFailure, toRunFailure } from '../inline/run-failure.ts';
import { readSessionHeaders } from '../inline/session-headers.ts';
import { header } from '../requests/header.ts';
import { parseJsonBody } from '../requests/json-body.ts';
import { parseTraceparent } from '../requests/traceparent.ts';
import { SessionChatEvents } from '../session-chat/session-chat-events.ts';
import { createSessionExists, type SessionRoute } from './sessions.ts';

export interface SessionChatOptions {
  engine: Engine;
  inline: InlineRuns;
  modelName: string;
  keyConfigured: boolean;
}

export function installSessionChatRoutes(app: FastifyInstance, options: SessionChatOptions): void {
  const { engine, inline, modelName, keyConfigured } = options;
  const route = { config: { startsWork: true }, preParsing: createSessionExists(engine.sessions) };

  async function start(request: FastifyRequest<SessionRoute>, reply: FastifyReply) {
    const { owner } = request;
    const { session_id: sessionId } = request.params;
    const body = parseObject(parseJsonBody(request.body));
    const key = parseIdempotencyKey(header(request, 'idempotency-key'));
    const { sessionKey } = readSessionHeaders(request, keyConfigured);
    const { prompt, instructions } = parseSessionChat(body);
    const started = await inline.start(reply, {
      owner,
      session: { sessionId, sessionKey },
      submit: () =>
        engine.submissions.submit(
          owner,
          { prompt, instructions, sessionId, history: undefined, previousResponseId: undefined },
          inlineIdempotency('session', key, { body, sessionId, sessionKey }),
          parseTraceparent(header(request, 'traceparent')),
        ),
    });
    return { started, said: body.message ?? body.input };
  }

  app.post<SessionRoute>('/api/sessions/:session_id/chat', route, async (request, reply) => {
    const { started } = await start(request, reply);
    let last: StoredEvent | undefined;
    const take = (event: StoredEvent): void => {
      last = event;
    };
    if (!(await inline.readToEnd(reply, started, take))) return;
    if (last?.event !== 'run.completed') return sendRunFailure(reply, toRunFailure(last!));
    const { output, usage } = JSON.parse(last.payload) as EventPayload<'run.completed'>;
    const { session_id, run_id } = started.run;
    return {
      object: 'hermes.session.chat.completion',
      session_id,
      run_id,
      message: { role: 'assistant', content: output },
      usage,
      runtime: { model: modelName },
    } satisfies SessionChatCompletion;
  });

  app.post<SessionRoute>('/api/sessions/:session_id/chat/stream', route, async (request, reply) => {
    const { started, said } = await start(request, reply);
    inline.stream(reply, started, new SessionChatEvents(started.run, said));
  });
}
