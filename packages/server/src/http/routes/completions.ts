/** `POST /v1/completions`: a run in OpenAI's older dialect (PROTOCOL.md). */
import {
  type Completion,
  NO_USAGE,
  parseCreateCompletion,
  parseIdempotencyKey,
  parseModelSettings,
  parseObject,
  type Run,
} from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import { ChatAnswer } from '../chat/chat-answer.ts';
import { type ChatHead, chatHead } from '../chat/chat-head.ts';
import { readTakenBack } from '../chat/taken-back.ts';
import { CompletionChunks } from '../completions/completion-chunks.ts';
import { inlineIdempotency } from '../inline/inline-runs.ts';
import { sendRunFailure } from '../inline/run-failure.ts';
import { readSessionHeaders } from '../inline/session-headers.ts';
import { header } from '../requests/header.ts';
import { parseJsonBody } from '../requests/json-body.ts';
import { parseTraceparent } from '../requests/traceparent.ts';
import type { ChatRouteOptions } from './chat.ts';

export type CompletionRouteOptions = Omit<ChatRouteOptions, 'continued' | 'tellApprovals'>;

export function installCompletionRoutes(app: FastifyInstance, options: CompletionRouteOptions): void {
  const { engine, journal, inline, modelName, keyConfigured } = options;

  app.post('/v1/completions', { config: { startsWork: true } }, async (request, reply) => {
    const { owner } = request;
    const body = parseObject(parseJsonBody(request.body));
    const key = parseIdempotencyKey(header(request, 'idempotency-key'));
    const session = readSessionHeaders(request, keyConfigured);
    const { prompt, model = modelName, stream, echo } = parseCreateCompletion(body);
    const started = await inline.start(reply, {
      owner,
      session,
      submit: () =>
        engine.submissions.submit(
          owner,
          {
            prompt,
            instructions: undefined,
            history: undefined,
            sessionId: session.sessionId,
            previousResponseId: undefined,
            settings: parseModelSettings(body),
            inline: true,
          },
          inlineIdempotency('completions', key, { body, session }),
          parseTraceparent(header(request, 'traceparent')),
        ),
    });
    const head = completionHead(started.run, model);
    const opening = echo ? prompt : '';
    if (stream) {
      const { run_id: runId } = started.run;
      const takenBack = started.replayed ? await readTakenBack(journal, runId) : [];
      inline.stream(reply, started, new CompletionChunks({ runId, head, opening, takenBack }));
      return;
    }
    const answer = new ChatAnswer({ runId: started.run.run_id, usageBefore: NO_USAGE });
    if (!(await inline.readToEnd(reply, started, (event) => answer.take(event)))) return;
    const result = answer.result(head);
    if ('failure' in result) return sendRunFailure(reply, result.failure);
    const [choice] = result.completion.choices;
    return {
      ...head,
      object: 'text_completion',
      choices: [
        {
          text: opening + (choice?.message.content ?? ''),
          index: 0,
          logprobs: null,
          finish_reason: choice?.finish_reason ?? null,
        },
      ],
      usage: result.completion.usage,
    } satisfies Completion;
  });
}

function completionHead(run: Run, model: string): ChatHead {
  const head = chatHead(run, model);
  return { ...head, id: head.id.replace('chatcmpl-', 'cmpl-') };
}
