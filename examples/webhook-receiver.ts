/**
 * Receives the messages of a run's webhook and checks their signatures. Start it with the secret and give its address to
 * a run: `{"input": "…", "webhook": {"url": "http://127.0.0.1:3000/hook", "secret": "…"}}`. A server calls addresses on
 * this machine only with TALARIA_WEBHOOK_ALLOW_PRIVATE=true.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WebhookMessage } from '@talaria/client';
import OpenAI from 'openai';

// Any library for Standard Webhooks can verify a message. OpenAI's is one.
const { webhooks } = new OpenAI({ apiKey: 'not used', webhookSecret: process.env.WEBHOOK_SECRET });
const seen = new Set<string>(); // in production: a table, with the id as its key

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  try {
    await webhooks.verifySignature(body, request.headers as Record<string, string>);
  } catch {
    response.writeHead(401).end();
    return;
  }
  // Answer first, work later: the server waits ten seconds for the answer and then sends the message again.
  response.writeHead(204).end();
  const { id, type, data } = JSON.parse(body) as WebhookMessage;
  if (seen.has(id)) return;
  seen.add(id);
  console.log(type, data.run_id);
});
server.listen(process.env.PORT ?? 3000, () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
});
