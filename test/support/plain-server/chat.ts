/** Chat completions that repeat what was said, in pieces when asked to stream. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { PlainRoute } from './plain-server.ts';

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

export const answerChat: PlainRoute = ({ method, path, headers: given, body }) => {
  if (method !== 'POST' || path !== '/v1/chat/completions') return undefined;
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    const message = "Missing or invalid 'messages' field";
    return { status: 400, json: { error: { message, type: 'invalid_request_error', code: null } } };
  }
  const text = `You said: ${body.messages.at(-1).content}`;
  const sessionId = given['x-hermes-session-id'] ?? `api-${randomBytes(6).toString('hex')}`;
  const headers = { 'x-hermes-session-id': String(sessionId) };
  const base = {
    id: `chatcmpl-${randomBytes(15).toString('hex').slice(0, 29)}`,
    created: Math.floor(Date.now() / 1000),
    model: 'hermes-agent',
  };
  if (body.stream === true) return { headers, stream: (response) => sendChunks(response, base, text) };
  const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }];
  return { headers, json: { ...base, object: 'chat.completion', choices, usage: USAGE } };
};

function sendChunks(response: ServerResponse, base: object, text: string): void {
  const send = (delta: object, finish_reason: string | null, more: object = {}): void => {
    const choices = [{ index: 0, delta, finish_reason }];
    const chunk = { ...base, object: 'chat.completion.chunk', choices, ...more };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  send({ role: 'assistant' }, null);
  for (const status of ['running', 'completed']) {
    const progress = { tool: 'terminal', label: 'echo', toolCallId: 'call_1', status };
    response.write(`event: hermes.tool.progress\ndata: ${JSON.stringify(progress)}\n\n`);
  }
  for (const piece of text.split(/(?<= )/)) send({ content: piece }, null);
  if (text.includes('break off')) {
    response.end();
  } else if (text.includes('fail')) {
    const error = {
      message: 'The provider failed',
      type: 'server_error',
      param: null,
      code: 'provider_error',
    };
    response.end(`data: ${JSON.stringify({ error })}\n\n`);
  } else {
    send({}, 'stop', { usage: USAGE });
    response.end('data: [DONE]\n\n');
  }
}
