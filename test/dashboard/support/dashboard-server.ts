/** A server with a scripted model and a key, and the address at which the page signs in by itself. */
import { Talaria } from '@talaria/client';
import { HostedServer } from '../../support/hosted-server.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { ServerProcess } from '../../support/server-process.ts';
import type { RunningServer, ServerOptions } from '../../support/server-settings.ts';

const KEY = 'the-key-of-the-dashboard-tests';

export interface DashboardServer<Server = RunningServer> extends AsyncDisposable {
  server: Server;
  model: ModelServer;
  key: string;
  client: Talaria;
  /** The address of a place in the page, such as `runs/run_1`, with the key. */
  ui(path?: string): string;
}

export function startDashboardServer(options: ServerOptions = {}): Promise<DashboardServer> {
  return startWith(HostedServer.start, options);
}

/** For tests that kill the server. */
export function startDashboardProcess(): Promise<DashboardServer<ServerProcess>> {
  return startWith(ServerProcess.start, {});
}

async function startWith<Server extends RunningServer>(
  start: (options: ServerOptions) => Promise<Server>,
  { env, ...options }: ServerOptions,
): Promise<DashboardServer<Server>> {
  const model = await startModelServer();
  const server = await start({
    modelUrl: model.url,
    ...options,
    env: { API_SERVER_KEY: KEY, ...env },
  });
  return {
    server,
    model,
    key: KEY,
    client: new Talaria({ baseUrl: server.url, apiKey: KEY }),
    ui: (path = '') => `${server.url}/ui/${path}#key=${KEY}`,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}
