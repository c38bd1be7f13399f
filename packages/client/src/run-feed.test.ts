import type { ServerResponse } from 'node:http';
import type { RunChanged } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { waitFor } from '../../../test/support/wait-for.ts';
import { BadRequestError, ConnectionError, NotFoundError } from './errors.ts';
import type { ConnectionChange } from './reconnects.ts';
import type { RunFeed } from './run-feed.ts';
import { busy, json, serve } from './testing/test-server.ts';

function open(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`: open\n\n${text}`);
}

function changed(cursor: string, runId: string, status = 'running'): string {
  return `id: ${cursor}\ndata: ${JSON.stringify({ event: 'run.changed', run: { run_id: runId, status } })}\n\n`;
}

/** Reads until it has this many changes. */
async function take(feed: RunFeed, count: number): Promise<RunChanged['run'][]> {
  const runs: RunChanged['run'][] = [];
  for await (const { run } of feed) if (runs.push(run) === count) break;
  return runs;
}

describe('a feed', () => {
  it('yields the changed runs, and leaving the loop ends the request', async () => {
    const { client, asked } = await serve((response) =>
      open(response, `: cursor c0\n\n${changed('c1', 'run_a')}${changed('c2', 'run_b', 'completed')}`),
    );
    const feed = client.feed();
    expect(await take(feed, 2)).toEqual([
      { run_id: 'run_a', status: 'running' },
      { run_id: 'run_b', status: 'completed' },
    ]);
    expect(feed.cursor).toBe('c2');
    expect(asked).toMatchObject([{ method: 'GET', url: '/v1/feed' }]);
    expect(asked[0]!.headers).not.toHaveProperty('last-event-id');
    await waitFor('the request to end', () => asked[0]!.aborted);
  });

  it('continues after the last change, through everything that passes', async () => {
    const { client, asked } = await serve((response, _, before) => {
      if (before === 0) {
        open(response, changed('c1', 'run_a'));
        setTimeout(() => response.destroy(), 20);
      } else if (before === 1) busy(response, 503);
      else if (before === 2) {
        // A server that shuts down ends its streams in good order.
        open(response, changed('c2', 'run_b'));
        response.end(': stream closed\n');
      } else open(response, changed('c3', 'run_c'));
    });
    const changes: ConnectionChange[] = [];
    const feed = client.feed({ onConnection: (change) => changes.push(change) });
    expect((await take(feed, 3)).map(({ run_id }) => run_id)).toEqual(['run_a', 'run_b', 'run_c']);
    expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'c1', 'c1', 'c2']);
    expect(changes.map(({ state }) => state)).toEqual(['open', 'lost', 'lost', 'open', 'lost', 'open']);
  });

  it('that loses its connection before the first change continues where it began', async () => {
    const { client, asked } = await serve((response, _, before) => {
      if (before > 0) return open(response, `: cursor c9\n\n${changed('c10', 'run_a')}`);
      open(response, ': cursor c0\n\n');
      setTimeout(() => response.destroy(), 20);
    });
    await take(client.feed(), 1);
    expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'c0']);
  });

  it('begins at a given cursor, and takes the place of a silent connection', async () => {
    const { client, asked } = await serve((response, _, before) =>
      open(response, before === 0 ? ': cursor c5\n\n' : changed('c6', 'run_a')),
    );
    await take(client.feed({ after: 'c5', stallTimeout: 100 }), 1);
    expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual(['c5', 'c5']);
  });

  it('passes over events that it does not know', async () => {
    const { client } = await serve((response) =>
      open(response, `id: c1\ndata: {"event":"run.forgotten"}\n\n${changed('c2', 'run_a')}`),
    );
    expect(await take(client.feed(), 1)).toMatchObject([{ run_id: 'run_a' }]);
  });

  it('ends with the error of a server that has no feed, or cannot serve the cursor', async () => {
    const error = (code: string) => ({ error: { message: code, type: 'x', param: null, code } });
    const older = await serve((response) => json(response, 404, error('not_found')));
    await expect(take(older.client.feed(), 1)).rejects.toThrow(NotFoundError);
    const moved = await serve((response, _, before) => {
      if (before > 0) return json(response, 400, error('invalid_cursor'));
      open(response, changed('c1', 'run_a'));
      setTimeout(() => response.destroy(), 20);
    });
    await expect(take(moved.client.feed(), 2)).rejects.toThrow(BadRequestError);
  });

  it('gives up when the time for reconnecting is over', async () => {
    const { client } = await serve((response) => {
      open(response, changed('c1', 'run_a'));
      setTimeout(() => response.destroy(), 20);
    });
    await expect(take(client.feed({ reconnectTimeout: 0 }), 2)).rejects.toThrow(ConnectionError);
  });
});
