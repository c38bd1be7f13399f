/**
 * Which tool names may be reported. A model can make up any name, of any length and content, so only names of existing
 * tools leave the server.
 */

export interface ToolNames {
  /** One of a fixed set: all tools of MCP servers are one entry, because they come and go. */
  label(tool: string): string;
  /** The name, if the tool exists. */
  name(tool: string): string;
}

const MADE_UP = 'other';

export function createToolNames(own: readonly string[], further: () => Iterable<string>): ToolNames {
  const known = new Set(own);
  const isFurther = (tool: string): boolean => {
    for (const name of further()) if (name === tool) return true;
    return false;
  };
  return {
    label: (tool) => (known.has(tool) ? tool : isFurther(tool) ? 'mcp' : MADE_UP),
    name: (tool) => (known.has(tool) || isFurther(tool) ? tool : MADE_UP),
  };
}
