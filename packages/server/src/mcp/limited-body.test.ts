import { expect, test } from 'vitest';
import { limitBody } from './limited-body.ts';

function respond(type: string, chunks: string[]): Response {
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk));
      controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': type } });
}

test('a body may be as large as the limit', async () => {
  const limited = limitBody(respond('application/json', ['[1,', '\n\n', '2]']), 7);
  expect(limited.headers.get('content-type')).toBe('application/json');
  expect(await limited.text()).toBe('[1,\n\n2]');
  await expect(limitBody(respond('application/json', ['[1,', '\n\n', '23]']), 7).text()).rejects.toThrow(
    /more than 7/,
  );
});

test('a stream may be of any length, one event of it may not', async () => {
  const event = 'data: 12345\n\n';
  const type = 'text/event-stream; charset=utf-8';
  expect(await limitBody(respond(type, Array(10).fill(event)), 20).text()).toBe(event.repeat(10));
  const long = ['data: 1\n\ndata: ', '2'.repeat(10), '3'.repeat(10)];
  await expect(limitBody(respond(type, long), 20).text()).rejects.toThrow(/more than 20/);
});

test('an answer without a body stays as it is', () => {
  const empty = new Response(null, { status: 204 });
  expect(limitBody(empty, 1)).toBe(empty);
});
