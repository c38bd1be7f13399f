/**
 * The program of a host of servers: starts and closes servers as its parent asks, until the parent is gone. See
 * hosted-server.ts.
 */
import { loadConfig, type ServerHandle, startServer } from '../../packages/server/src/index.ts';
import { KEPT_THREADS } from '../../packages/server/src/journal/sqlite/testing/kept-threads.ts';
import { OWN_THREAD } from '../../packages/server/src/journal/sqlite/writer-threads.ts';
import type { HostReply, HostRequest } from './hosted-server.ts';

// The servers of this process take each other's writer threads over: a thread is half of what a start costs here.
Object.assign(OWN_THREAD, KEPT_THREADS);

const servers = new Map<number, ServerHandle>();

process.on('message', async ({ id, start }: HostRequest) => {
  let reply: HostReply;
  try {
    reply = { id, url: start === undefined ? await close(id) : await open(id, start) };
  } catch (error) {
    reply = { id, problem: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  process.send!(reply);
});
process.on('disconnect', () => process.exit());

async function open(id: number, env: Record<string, string>): Promise<string> {
  const { config } = loadConfig({ argv: [], env, homeDir: env.HOME! });
  const server = await startServer(config);
  servers.set(id, server);
  return server.url;
}

async function close(id: number): Promise<string> {
  const server = servers.get(id)!;
  servers.delete(id);
  await server.close();
  return server.url;
}
