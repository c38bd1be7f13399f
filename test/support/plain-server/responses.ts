/** Responses that repeat what was said, kept in memory. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { PlainAnswer, PlainRoute } from './plain-server.ts';

const PATH = '/v1/responses';

interface StoredResponse {
  id: string;
  output: { type: string; content: { text: string }[] }[];
}

export class PlainResponses {
  readonly #stored = new Map<string, object>();

  readonly route: PlainRoute = ({ method, path, body }) => {
    if (path === PATH && method === 'POST') return this.#create(body);
    const id = path.startsWith(`${PATH}/`) ? path.slice(PATH.length + 1) : '';
    if (id === '') return undefined;
    const stored = this.#stored.get(id);
    if (stored === undefined) return notFound(`Response not found: ${id}`);
    if (method !== 'DELETE') return { json: stored };
    this.#stored.delete(id);
    return { json: { id, object: 'response', deleted: true } };
  };

  #create(body: Record<string, unknown>): PlainAnswer {
    const previous = body.previous_response_id;
    if (typeof previous === 'string' && !this.#stored.has(previous)) {
      return notFound(`Previous response not found: ${previous}`);
    }
    const text = `You said: ${body.input}`;
    const created = {
      id: `resp_${randomBytes(14).toString('hex')}`,
      object: 'response',
      status: 'completed',
      created_at: Math.floor(Date.now() / 1000),
      model: 'hermes-agent',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    };
    if (body.store !== false) this.#stored.set(created.id, created);
    if (body.stream !== true) return { json: created };
    return { stream: (response) => sendEvents(response, created, text) };
  }
}

function sendEvents(response: ServerResponse, created: StoredResponse, text: string): void {
  let number = 0;
  const send = (type: string, fields: object): void => {
    const json = JSON.stringify({ type, sequence_number: number++, ...fields });
    response.write(`event: ${type}\ndata: ${json}\n\n`);
  };
  const item = created.output[0]!;
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  send('response.created', { response: { ...created, status: 'in_progress', output: [] } });
  send('response.output_item.added', { output_index: 0, item: { ...item, content: [] } });
  for (const piece of text.split(/(?<= )/)) send('response.output_text.delta', { ...place, delta: piece });
  if (text.includes('break off')) {
    response.end();
    return;
  }
  send('response.output_text.done', { ...place, text });
  send('response.output_item.done', { output_index: 0, item });
  send('response.completed', { response: created });
  response.end();
}

function notFound(message: string): PlainAnswer {
  const error = { message, type: 'invalid_request_error', param: null, code: null };
  return { status: 404, json: { error } };
}
