/** Tries an MCP server once, as `McpServer` connects it: the handshake, its tools, and its end. */
import type { McpServerConfig } from '../config/index.ts';
import { firstNegotiation, type Negotiation, otherNegotiation } from './negotiation.ts';
import type { ListedTool, Session, SessionOptions } from './session.ts';

export type TryOptions = Pick<SessionOptions, 'environment' | 'secrets'> & {
  config: McpServerConfig;
};

/** Returns its tools; rejects with a `ConnectFailure`. It leaves nothing behind. */
export async function tryServer(options: TryOptions): Promise<readonly ListedTool[]> {
  const { Session } = await import('./session.ts');
  const open = (negotiation: Negotiation): Promise<Session> =>
    Session.open({ ...options, negotiation, log: SILENT, signal: NEVER, onTools() {} });
  const first = firstNegotiation(options.config);
  const session = await open(first).catch((failure: unknown) =>
    // If that fails too, the first failure says more.
    open(otherNegotiation(first)).catch(() => {
      throw failure;
    }),
  );
  await session.close();
  return session.tools;
}

const NEVER = new AbortController().signal;
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
