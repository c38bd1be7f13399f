/** A stream over real sockets: leaving the loop, reading the rest, and silence. */
import type { ServerResponse } from 'node:http';
import { encodeEventJson, encodeSseFrame, type RunEvent } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { errorOf } from '../../../test/support/error-of.ts';
import { waitFor } from '../../../test/support/wait-for.ts';
import { AnswerText } from './answer-text.ts';
import { ConnectionError, NotFoundError } from './errors.ts';
import type { ConnectionChange } from './reconnects.ts';
import { busy, json, serve } from './testing/test-server.ts';

const RUN = 'run_00000000000000000000000000000000';

const event = (seq: number, name: string, fields: object): string =>
  encodeSseFrame(seq, encodeEventJson(RUN, { seq, event: name, at: seq, payload: JSON.stringify(fields) }));
const delta = (seq: number, text: string): string => event(seq, 'message.delta', { delta: text });
const completed = (seq: number): string => event(seq, 'run.completed', { output: 'done', usage: {} });

function open(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.write(`: open\n\n${text}`);
}

const end = (response: ServerResponse, text: string): void => {
  open(response, text);
  response.end(': stream closed\n\n');
};

describe('reading', () => {
  it('connects when reading begins, once, and asks for events', async () => {
    const { client, asked } = await serve((response) => end(response, delta(0, 'a') + completed(1)));
    const stream = client.runs.streamEvents(RUN);
    expect(asked).toHaveLength(0);
    const seen: string[] = [];
    for await (const { event: name } of stream) seen.push(name);
    expect(seen).toEqual(['message.delta', 'run.completed']);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({
      url: `/v1/runs/${RUN}/events`,
      headers: { accept: 'text/event-stream' },
    });
    expect(asked[0]!.headers).not.toHaveProperty('last-event-id');
  });

  it('gives the result and the text after the loop, or without a loop', async () => {
    const { client } = await serve((response) => end(response, delta(0, 'a') + delta(1, 'b') + completed(2)));
    const looped = client.runs.streamEvents(RUN);
    for await (const _ of looped);
    expect(await looped.result()).toMatchObject({ event: 'run.completed', output: 'done' });
    expect(await looped.text()).toBe('ab');
    expect(looped.cursor).toBe(2);
    expect(await client.runs.streamEvents(RUN).result()).toMatchObject({ output: 'done' });
    expect(await client.runs.streamEvents(RUN).text()).toBe('ab');
  });

  it('can be finished by a method inside the loop', async () => {
    const { client } = await serve((response) => end(response, delta(0, 'a') + delta(1, 'b') + completed(2)));
    const stream = client.runs.streamEvents(RUN);
    const seen: number[] = [];
    for await (const { seq } of stream) {
      seen.push(seq);
      expect(await stream.text()).toBe('ab');
    }
    expect(seen).toEqual([0]);
  });

  it('happens once: a second loop is an error, not an empty one', async () => {
    const { client } = await serve((response) => end(response, completed(0)));
    const stream = client.runs.streamEvents(RUN);
    await stream.result();
    expect(() => stream[Symbol.asyncIterator]()).toThrow(/only once/);
  });

  it('fails the same way in the loop and in the methods', async () => {
    const { client } = await serve((response) => json(response, 404, { error: 'Run not found' }));
    const stream = client.runs.streamEvents(RUN);
    const error = await errorOf(stream.result());
    expect(error).toBeInstanceOf(NotFoundError);
    expect(await errorOf(stream.text())).toBe(error);
  });

  it('rejects a response that is not an event stream', async () => {
    const { client, asked } = await serve((response) => json(response, 200, {}), { maxRetries: 1 });
    const error = await errorOf(client.runs.streamEvents(RUN).result());
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as Error).message).toContain("'application/json' instead of a stream of events");
    expect(asked).toHaveLength(2);
  });
});

describe('reading in batches', () => {
  it('gives what arrived together as one array, and then the result and the text', async () => {
    const { client } = await serve((response) => end(response, delta(0, 'a') + delta(1, 'b') + completed(2)));
    const stream = client.runs.streamEvents(RUN);
    const seen: number[][] = [];
    for await (const events of stream.batches()) seen.push(events.map(({ seq }) => seq));
    expect(seen).toEqual([[0, 1, 2]]);
    expect(stream.cursor).toBe(2);
    expect(await stream.result()).toMatchObject({ output: 'done' });
    expect(await stream.text()).toBe('ab');
    expect(() => stream.batches()).toThrow(/only once/);
  });

  it('gives the events before a damaged one once, and continues after them', async () => {
    const { client, asked } = await serve((response, _, before) =>
      before === 0
        ? open(response, `${delta(0, 'a')}id: 1\ndata: {"event":"mess\n\n`)
        : end(response, delta(1, 'b') + completed(2)),
    );
    const seen: number[][] = [];
    for await (const events of client.runs.streamEvents(RUN).batches())
      seen.push(events.map(({ seq }) => seq));
    expect(seen).toEqual([[0], [1, 2]]);
    expect(asked[1]!.headers).toMatchObject({ 'last-event-id': '0' });
  });

  it('ends the request when the loop is left', async () => {
    const { client, asked } = await serve((response) => open(response, delta(0, 'a')));
    const stream = client.runs.streamEvents(RUN);
    for await (const _ of stream.batches()) break;
    await waitFor('the request to end', () => asked[0]!.aborted);
    expect(stream.cursor).toBe(0);
    await expect(stream.result()).rejects.toThrow(/closed without a terminal event/);
  });
});

describe('leaving', () => {
  it('a loop ends the request, and the cursor shows where to begin again', async () => {
    const { client, asked } = await serve((response, { headers }) =>
      headers['last-event-id'] === '1'
        ? end(response, completed(2))
        : open(response, delta(0, 'a') + delta(1, 'b')),
    );
    const stream = client.runs.streamEvents(RUN);
    for await (const { seq } of stream) if (seq === 1) break;
    await waitFor('the request to end', () => asked[0]!.aborted);
    expect(stream.cursor).toBe(1);
    expect(String(await errorOf(stream.result()))).toMatch(/closed before its end/);

    const rest = client.runs.streamEvents(RUN, { after: 1 });
    expect(await rest.result()).toMatchObject({ seq: 2 });
  });

  it('a loop by an error ends the request as well', async () => {
    const { client, asked } = await serve((response) => open(response, delta(0, 'a')));
    const looping = (async () => {
      for await (const _ of client.runs.streamEvents(RUN)) throw new Error('enough');
    })();
    expect(await errorOf(looping)).toEqual(new Error('enough'));
    await waitFor('the request to end', () => asked[0]!.aborted);
  });

  it("by a signal ends the request with the signal's reason", async () => {
    const abort = new AbortController();
    const { client, asked } = await serve((response) => open(response, delta(0, 'a')));
    const looping = (async () => {
      for await (const _ of client.runs.streamEvents(RUN, { signal: abort.signal })) {
        setTimeout(() => abort.abort(new Error('enough')));
      }
    })();
    expect(await errorOf(looping)).toEqual(new Error('enough'));
    await waitFor('the request to end', () => asked[0]!.aborted);
  });
});

describe('coming back', () => {
  it('asks for the events after the last one', async () => {
    const { client, asked } = await serve((response, _, before) => {
      if (before === 0) {
        open(response, delta(0, 'a') + delta(1, 'b'));
        setTimeout(() => response.destroy(), 20);
      } else if (before === 1) busy(response, 503);
      else end(response, delta(2, 'c') + completed(3));
    });
    const stream = client.runs.streamEvents(RUN, { headers: { 'x-a': 'b' } });
    expect(await stream.text()).toBe('abc');
    expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1', '1']);
    expect(asked.every(({ headers }) => headers['x-a'] === 'b')).toBe(true);
  });

  it('reports what was lost, each attempt, and that it is back', async () => {
    const { client } = await serve((response, _, before) => {
      if (before === 0) {
        open(response, delta(0, 'a'));
        setTimeout(() => response.destroy(), 20);
      } else if (before === 1) busy(response, 502);
      else end(response, completed(1));
    });
    const changes: ConnectionChange[] = [];
    await client.runs.streamEvents(RUN, { onConnection: (change) => changes.push(change) }).result();
    expect(changes).toEqual([
      { state: 'open' },
      { state: 'lost', attempt: 1, retryInMs: expect.any(Number), error: expect.any(ConnectionError) },
      { state: 'lost', attempt: 2, retryInMs: 0, error: expect.objectContaining({ status: 502 }) },
      { state: 'open' },
    ]);
  });

  it('ends with its request when the listener throws', async () => {
    const { client, asked } = await serve((response) => open(response, delta(0, 'a')));
    const fault = new Error('no screen');
    const stream = client.runs.streamEvents(RUN, {
      onConnection: () => {
        throw fault;
      },
    });
    expect(await errorOf(stream.result())).toBe(fault);
    await waitFor('the request to end', () => asked[0]?.aborted);
  });

  it('happens when a connection falls silent', async () => {
    const { client, asked } = await serve((response, _, before) => {
      if (before === 0) open(response, delta(0, 'a'));
      else end(response, completed(1));
    });
    expect(await client.runs.streamEvents(RUN, { stallTimeout: 100 }).result()).toMatchObject({ seq: 1 });
    expect(asked).toHaveLength(2);
    await waitFor('the silent request to end', () => asked[0]!.aborted);
  });

  it('does not happen while the server sends keepalives, nor while the reader is slow', async () => {
    const { client, asked } = await serve((response) => {
      open(response, delta(0, 'a'));
      let pings = 0;
      const timer = setInterval(() => {
        if (++pings < 10) response.write(': keepalive\n\n');
        else {
          clearInterval(timer);
          response.end(delta(1, 'b') + completed(2));
        }
      }, 50);
    });
    for await (const { seq } of client.runs.streamEvents(RUN, { stallTimeout: 300 })) {
      if (seq === 1) await new Promise((resolve) => setTimeout(resolve, 400));
    }
    expect(asked).toHaveLength(1);
  });
});

describe('the text of a run', () => {
  const textOf = (...events: object[]): string => {
    const text = new AnswerText();
    for (const each of events) text.add(each as RunEvent);
    return text.toString();
  };
  const said = (seq: number, text: string) => ({ event: 'message.delta', seq, delta: text });

  it('is what the model said, without repetitions after a restart', () => {
    const before = [said(0, 'one '), said(1, 'tw')];
    const resumed = { event: 'run.resumed', seq: 2, discard_from_seq: 1 };
    expect(textOf(...before, resumed, said(3, 'two'))).toBe('one two');
  });

  it('stays when a restart repeats nothing', () => {
    expect(textOf(said(0, 'one '), { event: 'run.resumed', seq: 1 }, said(2, 'two'))).toBe('one two');
  });

  it('keeps what comes after the restart, whatever its seq', () => {
    const resumed = { event: 'run.resumed', seq: 1, discard_from_seq: 0 };
    expect(textOf(said(0, 'x'), resumed, said(2, 'a'), { ...resumed, seq: 3, discard_from_seq: 2 })).toBe('');
  });
});
