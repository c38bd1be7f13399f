/** The configured MCP servers, each with a real connection and a list of its tools. */
import type { Env } from '../../../config/environment.ts';
import { type Config, configSecrets, type McpServerConfig } from '../../../config/index.ts';
import { ConnectFailure } from '../../../mcp/failures.ts';
import { tryServer } from '../../../mcp/try-server.ts';
import { Secrets } from '../../../secrets/secrets.ts';
import type { Finding } from '../finding.ts';

/** How many tools of a server are named. */
const NAMED_TOOLS = 8;

export async function checkMcpServers(config: Config, { env }: { env: Env }): Promise<Finding> {
  const { mcpServers } = config;
  if (mcpServers.length === 0) return { status: 'ok', detail: 'none configured' };
  const secrets = new Secrets(configSecrets(config));
  const wanted = mcpServers.filter(({ enabled }) => enabled);
  const findings = await Promise.all(wanted.map((server) => checkServer(server, secrets, env)));
  const connected = findings.filter(({ status }) => status !== 'failed').length;
  const off = mcpServers.length - wanted.length;
  return {
    status: worst(findings.map(({ status }) => status)),
    detail: `${connected} of ${wanted.length} connected${off === 0 ? '' : `, ${off} switched off`}`,
    facts: findings.map(({ detail }) => detail),
    ...joined(findings.flatMap(({ fix }) => fix ?? [])),
  };
}

async function checkServer(config: McpServerConfig, secrets: Secrets, environment: Env): Promise<Finding> {
  try {
    const listed = await tryServer({ config, secrets, environment });
    const names = listed.map(({ name }) => name);
    return describe(config, names);
  } catch (error) {
    if (!(error instanceof ConnectFailure)) throw error;
    return {
      status: 'failed',
      detail: `${config.name}: ${error.message}`,
      fix: fixOf(config, error.message),
    };
  }
}

function describe({ name, tools: wanted }: McpServerConfig, listed: readonly string[]): Finding {
  const used = wanted === undefined ? listed : listed.filter((tool) => wanted.includes(tool));
  const missing = wanted?.filter((tool) => !listed.includes(tool)) ?? [];
  const count = used.length === 1 ? '1 tool' : `${used.length} tools`;
  const detail = `${name}: ${count}${used.length === 0 ? '' : ` (${shortList(used)})`}`;
  if (missing.length === 0) return { status: 'ok', detail };
  return {
    status: 'warning',
    detail: `${detail}, but not ${missing.join(', ')}`,
    fix: `Fix mcp_servers.${name}.tools: the server has ${shortList(listed)}`,
  };
}

function fixOf({ name, transport }: McpServerConfig, reason: string): string {
  const entry = `mcp_servers.${name}`;
  if (/^answers HTTP 40[13]\b/.test(reason)) return `Check the key in ${entry}.headers`;
  if (reason.startsWith('did not complete')) {
    return `Check that ${entry} is an MCP server, or give it more connect_timeout_seconds`;
  }
  if (transport.kind === 'http') return `Check ${entry}.url, and that the server runs`;
  return `Run the command of ${entry} by hand to see what it says`;
}

function shortList(names: readonly string[]): string {
  const more = names.length - NAMED_TOOLS;
  return `${names.slice(0, NAMED_TOOLS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function worst(statuses: readonly Finding['status'][]): Finding['status'] {
  return (['failed', 'warning'] as const).find((status) => statuses.includes(status)) ?? 'ok';
}

function joined(fixes: readonly string[]): { fix?: string } {
  return fixes.length === 0 ? {} : { fix: fixes.join('; ') };
}
