/**
 * The model of the bench: OpenAI-compatible, and as cheap as possible, because it shares the machine with what is
 * measured. `bench:say N` in the prompt makes it stream N chunks of text as fast as they are read, `bench:hang` makes
 * it never answer. The test model (test/support) does more, and costs more per chunk than the floors.
 */
import { createServer, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

/** About the length of a token of English. */
const WORD = ' word';
/** Chunks per write: a provider's packets hold a few, and one write per chunk would make this the slowest part. */
const GROUP = 5;

const HEAD = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 0, model: 'bench' };
const CHUNK = frame({ choices: [{ index: 0, delta: { content: WORD }, finish_reason: null }] });
const END =
  frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
  frame({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }) +
  'data: [DONE]\n\n';

listen(
  createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      if (body.includes('bench:hang')) return;
      const chunks = Number(/bench:say (\d+)/.exec(body)?.[1] ?? 1);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      say(response, chunks);
    });
  }),
);

/** One write per turn, so that concurrent streams advance side by side. */
function say(response: ServerResponse, chunks: number): void {
  const taken = response.write(CHUNK.repeat(Math.min(GROUP, chunks)));
  const left = chunks - GROUP;
  if (left <= 0) response.end(END);
  else if (taken) setImmediate(say, response, left);
  else response.once('drain', () => say(response, left));
}

function frame(fields: object): string {
  return `data: ${JSON.stringify({ ...HEAD, ...fields })}\n\n`;
}
