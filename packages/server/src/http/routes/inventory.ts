/**
 * What the agent has, as clients of Hermes ask for it: `/v1/skills`, `/v1/toolsets`, `/api/model/options`. And which directories
 * its runs may use: `/v1/directories`.
 */
import type {
  Directory,
  DirectoryList,
  ModelOptions,
  SkillList,
  Toolset,
  ToolsetList,
} from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import { TOOLSETS } from '../../agent/tools/toolsets.ts';
import type { McpServerHealth } from '../../mcp/mcp-server.ts';

export interface InventoryOptions {
  /** The model names that a request may use, the server's own name first. */
  modelName: string;
  /** The tools of this process; a process that does not work on runs knows of none. */
  mcpServers(): readonly McpServerHealth[];
  /** The directories that the key may use. */
  listDirectories(owner: string): Promise<Directory[]>;
}

export function installInventoryRoutes(app: FastifyInstance, options: InventoryOptions): void {
  const { modelName, mcpServers, listDirectories } = options;

  // The agent has no skills: everything it can do is a tool.
  app.get('/v1/skills', async () => ({ object: 'list', data: [] }) satisfies SkillList);

  app.get('/v1/toolsets', async (): Promise<ToolsetList> => {
    const builtIn = TOOLSETS.map(({ tools, ...set }) => ({
      ...set,
      enabled: true,
      configured: true,
      tools: [...tools],
    }));
    return { object: 'list', platform: 'api_server', data: [...builtIn, ...mcpServers().map(toToolset)] };
  });

  app.get('/v1/directories', async (request): Promise<DirectoryList> => {
    return { object: 'list', data: await listDirectories(request.owner) };
  });

  app.get('/api/model/options', async (): Promise<ModelOptions> => {
    const models = [modelName];
    return {
      model: modelName,
      provider: 'talaria',
      providers: [
        {
          slug: 'talaria',
          name: 'Talaria',
          is_current: true,
          is_user_defined: false,
          authenticated: true,
          models,
          total_models: models.length,
        },
      ],
    };
  });
}

function toToolset({ name, status, tools }: McpServerHealth): Toolset {
  return {
    name: `mcp-${name}`,
    label: `MCP: ${name}`,
    description: `The tools of the MCP server ${name}`,
    enabled: status === 'ready',
    configured: true,
    tools: [...tools].sort(),
  };
}
