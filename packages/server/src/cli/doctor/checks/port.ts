/** The port: free, or taken by one of our servers, whose state is then shown. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { APIError, type HealthDetailed, Talaria } from '@talaria/client';
import type { Config } from '../../../config/index.ts';
import { serverAddress } from '../../client/server-address.ts';
import { explain } from '../../startup-error.ts';
import { safeLine } from '../../text/safe-text.ts';
import type { Finding } from '../finding.ts';

const ANSWER_MS = 5_000;

export async function checkPort(config: Config): Promise<Finding> {
  const { host, port } = config;
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return { status: 'ok', detail: port === 0 ? `any free one on ${host}` : `${host} port ${port} is free` };
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    const taken = failure.code === 'EADDRINUSE' ? await askServer(config) : undefined;
    const [detail = '', ...fix] = explain(failure, config).split('; ');
    return taken ?? { status: 'failed', detail, fix: fix.join('; ') };
  }
}

/** Undefined if it is not one of ours. */
async function askServer(config: Config): Promise<Finding | undefined> {
  const { host, port, apiKeys } = config;
  const { url } = serverAddress(undefined, { API_SERVER_HOST: host, API_SERVER_PORT: String(port) });
  const client = new Talaria({
    baseUrl: url,
    apiKey: apiKeys[0]?.key ?? null,
    maxRetries: 0,
    timeout: ANSWER_MS,
  });
  let version: string;
  try {
    const health = await client.health.get();
    if (typeof health.version !== 'string') return undefined;
    version = safeLine(health.version);
  } catch {
    return undefined;
  }
  const name = `a server (${version}) listens on ${url}`;
  try {
    return describe(name, await client.health.detailed());
  } catch (error) {
    if (!(error instanceof APIError && error.status === 401)) throw error;
    return {
      status: 'warning',
      detail: `${name} and has another key than this configuration`,
      fix: 'Restart it with this configuration, or give this one the same API_SERVER_KEY',
    };
  }
}

function describe(name: string, { readiness }: HealthDetailed): Finding {
  const poor = Object.entries(readiness.checks).filter(([, { status }]) => status === 'failed');
  if (poor.length === 0 && readiness.status === 'ready')
    return { status: 'ok', detail: `${name} and is ready`, next: "talaria run '…'" };
  return {
    status: 'failed',
    detail: `${name} and is ${safeLine(readiness.status)}`,
    facts: poor.map(([check, { detail }]) => `${safeLine(check)}: ${safeLine(detail)}`),
    fix: 'Look into its log',
  };
}
