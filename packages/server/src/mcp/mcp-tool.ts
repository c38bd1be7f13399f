/** A tool of an MCP server as a tool of the agent. */
import type { Tool, ToolOutcome } from '../agent/tools/tool.ts';
import { maskValue } from '../secrets/credential-patterns.ts';
import type { ListedTool } from './session.ts';
import { toolName } from './tool-names.ts';

export interface McpToolOptions {
  server: string;
  tool: ListedTool;
  approval: 'never' | 'always';
  call(args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome>;
}

/** Arguments are passed on as the model wrote them: the server knows its schema best, and says what is wrong. */
export function createMcpTool({ server, tool, approval, call }: McpToolOptions): Tool {
  const name = toolName(server, tool.name);
  return {
    definition: {
      name,
      description: tool.description ?? tool.title ?? '',
      // Some providers refuse an object without properties.
      parameters: { properties: {}, ...tool.inputSchema },
    },
    prepare(args) {
      const shown = JSON.stringify(maskValue(args, (text) => text));
      return {
        preview: shown === '{}' ? '' : shown,
        ...(approval === 'always' ? { question: { text: `${name} ${shown}`, key: name } } : {}),
        execute: (signal) => call(args, signal),
      };
    },
  };
}
