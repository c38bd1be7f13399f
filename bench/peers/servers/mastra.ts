/** Mastra on Hono with a LibSQL file: an agent with one tool, plain or durable. */
import { serve } from '@hono/node-server';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { type HonoBindings, type HonoVariables, MastraServer } from '@mastra/hono';
import { LibSQLStore } from '@mastra/libsql';
import { Hono } from 'hono';
import { z } from 'zod';
import { announce } from '../../processes/listen.ts';
import { runCommand } from './steps.ts';

const [modelUrl = '', dataDir = '', kind = 'plain'] = process.argv.slice(2);

const terminal = createTool({
  id: 'terminal',
  description: 'Runs a command',
  inputSchema: z.object({ command: z.string() }),
  execute: async () => ({ exitCode: await runCommand() }),
});
const agent = new Agent({
  id: 'agent',
  name: 'agent',
  instructions: 'You run commands.',
  model: { id: 'bench/bench', url: modelUrl, apiKey: 'none' },
  tools: { terminal },
  durable: kind === 'durable',
});
const mastra = new Mastra({
  agents: { agent },
  storage: new LibSQLStore({ id: 'bench', url: `file:${dataDir}/mastra.db` }),
  recovery: { durableAgents: kind === 'durable' ? 'auto' : 'off' },
  logger: false,
});
const app = new Hono<{ Bindings: HonoBindings; Variables: HonoVariables }>();
const server = new MastraServer({ app, mastra });
await server.init();
// What Mastra's own deployment does at start if recovery is on.
if (kind === 'durable') await mastra.recoverAllDurableAgents();
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => announce(port));
