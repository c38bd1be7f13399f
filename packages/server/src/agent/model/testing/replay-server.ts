/** Shared by the tests of this folder: collects a step, and a small provider that replays fixed frames. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AssistantPart, Message } from '../../../journal/messages.ts';
import type { Model, StepFinish, StepPart, StepRequest } from '../model.ts';
import { ModelError } from '../model.ts';

const TERMINAL = {
  name: 'terminal',
  description: 'Runs a command',
  parameters: {
    type: 'object',
    properties: { command: { type: 'string' } },
    required: ['command'],
    additionalProperties: false,
  },
};

export interface CollectedStep {
  parts: StepPart[];
  text: string;
  finish: StepFinish;
}

type PartialRequest = Partial<StepRequest> & { prompt?: string };

export function toRequest({ prompt, ...request }: PartialRequest): StepRequest {
  const messages: Message[] = prompt === undefined ? [] : [{ role: 'user', content: prompt }];
  return { messages, tools: [TERMINAL], signal: new AbortController().signal, ...request };
}

export async function collect(model: Model, request: PartialRequest): Promise<CollectedStep> {
  const parts: StepPart[] = [];
  for await (const part of model.streamStep(toRequest(request))) parts.push(part);
  const finish = parts.at(-1);
  if (finish?.type !== 'finish') throw new Error('The step did not end with a finish part');
  return { parts, text: parts.map((part) => (part.type === 'text' ? part.delta : '')).join(''), finish };
}

/** The error of a step that must fail, with the parts before it. */
export async function collectFailure(
  model: Model,
  request: PartialRequest,
): Promise<{ error: ModelError; parts: StepPart[] }> {
  const parts: StepPart[] = [];
  try {
    for await (const part of model.streamStep(toRequest(request))) parts.push(part);
  } catch (error) {
    if (error instanceof ModelError) return { error, parts };
    throw error;
  }
  throw new Error(`The step did not fail: ${JSON.stringify(parts.at(-1))}`);
}

/** The conversation after a step whose tool calls all printed `output`. */
export function withResults(
  messages: readonly Message[],
  content: AssistantPart[],
  output: string,
): Message[] {
  const results = content.flatMap((part): Message[] =>
    part.type === 'tool_call'
      ? [{ role: 'tool', tool_call_id: part.id, tool: part.tool, output, is_error: false }]
      : [],
  );
  return [...messages, { role: 'assistant', content }, ...results];
}

export interface ReplayServer extends AsyncDisposable {
  url: string;
  requests: {
    path: string;
    headers: IncomingHttpHeaders;
    body: Record<string, unknown>;
    /** Resolves when the connection is closed or the answer is complete. */
    closed: Promise<unknown>;
    /** Tells connections apart. */
    clientPort: number | undefined;
  }[];
}

/** A frame after which the server falls silent and keeps the connection open. */
export const SILENCE = Symbol('silence');

/** Answers the n-th request with the n-th list of SSE frames, or with a status and a JSON body. */
export async function startReplayServer(
  answers: (unknown[] | { status: number; body: unknown })[],
): Promise<ReplayServer> {
  const requests: ReplayServer['requests'] = [];
  const server = createServer(async (req, res) => {
    let text = '';
    for await (const chunk of req.setEncoding('utf8')) text += chunk;
    const answer = answers[requests.length] ?? [];
    requests.push({
      path: req.url ?? '',
      headers: req.headers,
      body: JSON.parse(text),
      closed: once(res, 'close'),
      clientPort: req.socket.remotePort,
    });
    if (!Array.isArray(answer)) {
      res.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
      return;
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of answer) {
      if (frame === SILENCE) return;
      res.write(`data: ${JSON.stringify(frame)}\n\n`);
    }
    // A real provider's response ends a moment after its last frame.
    setTimeout(() => res.end(), 20);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
