import { expect, it } from 'vitest';
import type { KnownServer } from '../journal/peers.ts';
import { checkPeers } from './check-peers.ts';

const NOW = 1_700_000_000_000;
const server = (serverId: string, seenMsAgo: number, other: Partial<KnownServer> = {}): KnownServer => ({
  serverId,
  url: `http://${serverId}`,
  role: 'all',
  version: '1.0.0',
  maxRuns: 10,
  startedAt: NOW - 3_600_000,
  seenAt: NOW - seenMsAgo,
  stoppedAt: null,
  ...other,
});
const listing = (...servers: KnownServer[]) => ({ list: async () => ({ now: NOW, servers }) });

it('names the existing servers, and is degraded while one of them is silent', async () => {
  const well = await checkPeers(
    listing(server('a', 0), server('b', 6_000), server('c', 0, { stoppedAt: NOW })),
    'b',
  );
  expect(well).toMatchObject({
    status: 'ok',
    detail: '2 of 2 servers on this store were seen lately',
    servers: [
      { server_id: 'a', self: false, seen_at: new Date(NOW).toISOString() },
      { server_id: 'b', self: true },
    ],
  });
  const poor = await checkPeers(listing(server('a', 0), server('b', 60_000), server('c', 3_600_000)), 'a');
  expect(poor).toMatchObject({
    status: 'degraded',
    detail: '1 of 2 servers on this store were seen lately',
    servers: [{ server_id: 'a' }, { server_id: 'b' }],
  });
});

it('is degraded while no server that was seen lately works on runs', async () => {
  const front = server('a', 0, { role: 'http', maxRuns: 0 });
  expect(await checkPeers(listing(front, server('b', 60_000)), 'a')).toMatchObject({
    status: 'degraded',
    detail: expect.stringContaining('none of them works on runs'),
  });
});

it.each([
  ['refuses', () => Promise.reject(new Error('away'))],
  ['hangs', () => new Promise<never>(() => {})],
])('says that it does not know while the store %s', async (_, list) => {
  expect(await checkPeers({ list }, 'a', 20)).toMatchObject({ status: 'degraded', servers: [] });
});
