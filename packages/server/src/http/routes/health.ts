/**
 * `/health`, `/v1/health`, `/health/ready` (open to everyone) and `/health/detailed`.
 *
 * `/health/ready` says whether requests should be sent here, and nothing else. An unreachable database does not make a
 * server unready: it is unreachable for every server, and a load balancer without any server helps no client.
 */
import type { FastifyInstance } from 'fastify';
import type { Check } from '../../basics/check.ts';
import type { Config } from '../../config/index.ts';
import type { Engine, Load } from '../../engine/engine.ts';
import type { McpServerHealth } from '../../mcp/mcp-server.ts';

export interface HealthOptions {
  version: string;
  role: Config['role'];
  engine: Engine;
  /** Checks, at every call, what the server depends on. */
  checks(): Promise<Record<string, Check>>;
  mcpServers(): readonly McpServerHealth[];
}

export function installHealthRoutes(app: FastifyInstance, options: HealthOptions): void {
  const { version, role, engine, checks, mcpServers } = options;
  const brief = { status: 'ok', platform: 'hermes-agent', version };
  const startedAt = Date.now();

  for (const path of ['/health', '/v1/health']) {
    app.get(path, { config: { open: true } }, async () => brief);
  }

  app.get('/health/ready', { config: { open: true } }, async (_request, reply) => {
    if (!engine.draining) return { status: 'ready' };
    return reply.code(503).send({ status: 'draining' });
  });

  app.get('/health/detailed', async () => {
    const [load, found] = await Promise.all([engine.load(), checks()]);
    const failed = Object.values(found).some((check) => check.status === 'failed');
    return {
      ...brief,
      role,
      gateway_state: engine.draining ? 'draining' : 'running',
      active_agents: load.active,
      platforms: { api_server: { state: 'connected', subscribers: load.subscribers } },
      queue: describeQueue(load),
      webhooks: load.webhooks,
      mcp_servers: mcpServers(),
      pid: process.pid,
      uptime_seconds: Math.round((Date.now() - startedAt) / 1000),
      memory: describeMemory(),
      updated_at: new Date().toISOString(),
      readiness: { status: failed || engine.draining ? 'not_ready' : 'ready', checks: found },
    };
  });
}

function describeQueue({ queued, leased, waiting, maxQueued, maxActive }: Load) {
  return { queued, leased, waiting, max_queued: maxQueued, max_concurrent: maxActive };
}

function describeMemory() {
  const { rss, heapUsed } = process.memoryUsage();
  return { rss_bytes: rss, heap_used_bytes: heapUsed };
}
