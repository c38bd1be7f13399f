/** How many of the MCP servers are connected. One that is not connected costs only its tools. */
import type { Check } from '../../basics/check.ts';
import type { McpServerHealth } from '../../mcp/mcp-server.ts';

export function checkMcp(servers: readonly McpServerHealth[]): Check {
  const wanted = servers.filter(({ status }) => status !== 'disabled');
  const ready = wanted.filter(({ status }) => status === 'ready');
  return {
    status: ready.length === wanted.length ? 'ok' : 'degraded',
    detail: `${ready.length} of ${wanted.length} MCP servers ready`,
  };
}
