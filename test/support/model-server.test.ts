/** The rules that tests rely on; the adapter that reads the stream tests its form. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ModelServer, type Step, script, startModelServer } from './model-server.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());

type Messages = { role: string; content: unknown }[];
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown = null) => ({ role: 'assistant', content });

function post(messages: Messages, { url = server.url, signal }: { url?: string; signal?: AbortSignal } = {}) {
  const body = JSON.stringify({
    model: 'm',
    stream: true,
    stream_options: { include_usage: true },
    messages,
  });
  return fetch(`${url}/chat/completions`, { method: 'POST', body, ...(signal && { signal }) });
}

interface Frame {
  choices: { delta: { content?: string; tool_calls?: { function: { arguments: string } }[] } }[];
  usage?: { total_tokens: number };
}

async function frames(response: Response): Promise<Frame[]> {
  const lines = (await response.text()).split('\n\n').filter(Boolean);
  expect(lines.at(-1)).toBe('data: [DONE]');
  return lines.slice(0, -1).map((line) => JSON.parse(line.slice('data: '.length)));
}

async function say(messages: Messages, url?: string): Promise<string> {
  const all = await frames(await post(messages, url ? { url } : {}));
  return all.map((frame) => frame.choices[0]?.delta.content ?? '').join('');
}

describe('which step is played', () => {
  const steps: Step[] = [{ text: 'first' }, { text: 'second' }];

  test('the one after as many answers as there are', async () => {
    const prompt = user(script(steps));
    expect(await say([prompt])).toBe('first');
    expect(await say([prompt, assistant(), { role: 'tool', content: 'x' }])).toBe('second');
    expect(await say([prompt, assistant(), assistant()])).toBe('done');
  });

  test('text around the script, other messages before it and steering after it do not matter', async () => {
    const prompt = user([{ type: 'text', text: `Please.\n${script(steps)}\nThanks.` }]);
    const before = [{ role: 'system', content: 'x' }, user('hi'), assistant('hello')];
    expect(await say([...before, prompt])).toBe('first');
    expect(await say([...before, prompt, assistant(), user('hurry')])).toBe('second');
  });

  test('the most recent script counts', async () => {
    expect(await say([user(script(steps)), assistant('first'), user(script([{ text: 'new' }]))])).toBe('new');
  });

  test('without a script it echoes', async () => {
    expect(await say([user('good morning')])).toBe('You said: good morning');
  });
});

test('the pieces of text are the requested ones, and a character is never cut', async () => {
  const pieces = async (step: Step) =>
    (await frames(await post([user(script([step]))]))).flatMap(
      (frame) => frame.choices[0]?.delta.content || [],
    );
  expect(await pieces({ text: 'abcd', chunks: 2 })).toEqual(['ab', 'cd']);
  expect(await pieces({ chunks: ['a', 'bcd'] })).toEqual(['a', 'bcd']);
  expect(await pieces({ text: '🪽🪽🪽', chunks: 3 })).toEqual(['🪽', '🪽', '🪽']);
});

test('arguments of a tool call come in several pieces, and usage comes last', async () => {
  const all = await frames(
    await post([
      user(script([{ tools: [{ name: 't', arguments: { a: 'b' } }], usage: { input: 3, output: 4 } }])),
    ]),
  );
  const pieces = all.flatMap((frame) => frame.choices[0]?.delta.tool_calls?.[0]?.function.arguments ?? []);
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join('')).toBe('{"a":"b"}');
  expect(all.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 7 } });
});

test('a call can use what tool results have shown', async () => {
  const tool = { name: 't', arguments: { id: '{{found id_[0-9]+}}', other: '{{found nothing}}' } };
  const all = await frames(
    await post([
      user(script([{ text: 'first' }, { tools: [tool] }])),
      assistant(),
      { role: 'tool', content: 'id_1 and id_22' },
    ]),
  );
  const pieces = all.flatMap((frame) => frame.choices[0]?.delta.tool_calls?.[0]?.function.arguments ?? []);
  expect(JSON.parse(pieces.join(''))).toEqual({ id: 'id_22', other: '{{found nothing}}' });
});

test('a fault with `times` happens that often per script, and two scripts do not share the count', async () => {
  const steps: Step[] = [{ error: { status: 503, message: 'busy', retryAfter: 3 }, times: 2, text: 'fine' }];
  for (const prompt of [user(script(steps)), user(script(steps))]) {
    for (let i = 0; i < 2; i++) {
      const response = await post([prompt]);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('3');
      expect(await response.json()).toMatchObject({ error: { message: 'busy' } });
    }
    expect(await say([prompt])).toBe('fine');
  }
});

test('a gate holds a step before its start, or in the middle, until it is opened', async () => {
  let started = false;
  const before = post([user(script([{ gate: 'g1', text: 'x' }]))]).then((response) => {
    started = true;
    return frames(response);
  });
  await server.waitingAt('g1');
  expect(started).toBe(false);
  server.open('g1');
  await before;

  const middle = await post([user(script([{ chunks: ['one', { gate: 'g2' }, 'two'] }]))]);
  await server.waitingAt('g2');
  server.open('g2');
  expect((await middle.text()).includes('two')).toBe(true);
});

test('a request that the client closes is recorded as aborted, one that the script ends is not', async () => {
  const abort = new AbortController();
  const prompt = script([{ hang: 'mid', text: 'x' }]);
  const response = await post([user(prompt)], { signal: abort.signal });
  const count = server.abortedCount;
  abort.abort();
  const request = await server.waitForRequest(
    (seen) => seen.aborted && prompt.includes(seen.scriptId ?? '-'),
  );
  expect(request).toMatchObject({ step: 0, tries: 0, ended: false });
  expect(server.abortedCount).toBe(count + 1);
  await response.text().catch(() => {});

  const cut = script([{ disconnect: 'mid', text: 'abc' }]);
  await expect(post([user(cut)]).then((answer) => answer.text())).rejects.toThrow();
  const ended = await server.waitForRequest((seen) => seen.ended && cut.includes(seen.scriptId ?? '-'));
  expect(ended.aborted).toBe(false);
});

test('waiting for a request that does not come fails with its description', async () => {
  await expect(server.waitForRequest(() => false, 20)).rejects.toThrow(/matching request/);
});

test('lists its model', async () => {
  expect(await (await fetch(`${server.url}/models`)).json()).toMatchObject({ data: [{ id: 'scripted' }] });
});

test('runs on its own, with gates and records over HTTP', async () => {
  const path = new URL('model-server.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [path, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
    const root = url.replace(/\/v1$/, '');
    const answer = say([user(script([{ gate: 'a b', text: 'hi' }]))], url);
    await expect
      .poll(async () => (await fetch(`${root}/_gate/a%20b`)).json())
      .toEqual({ gate: 'a b', open: false, waiting: 1 });
    await fetch(`${root}/_gate/a%20b`, { method: 'POST' });
    expect(await answer).toBe('hi');
    expect(await (await fetch(`${root}/_requests`)).json()).toMatchObject([
      { step: 0, aborted: false, ended: true },
    ]);
  } finally {
    child.kill();
  }
});
