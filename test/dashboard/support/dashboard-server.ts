/** A server with a scripted model and a key, and the address at which the page signs in by itself. */
import { Talaria } from '@talaria/client';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { ServerProcess, type ServerProcessOptions } from '../../support/server-process.ts';

const KEY = 'the-key-of-the-dashboard-tests';

export interface DashboardServer extends AsyncDisposable {
  server: ServerProcess;
  model: ModelServer;
  key: string;
  client: Talaria;
  /** The address of a place in the page, such as `runs/run_1`, with the key. */
  ui(path?: string): string;
}

export async function startDashboardServer({
  env,
  ...options
}: ServerProcessOptions = {}): Promise<DashboardServer> {
  const model = await startModelServer();
  const server = await ServerProcess.start({
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
