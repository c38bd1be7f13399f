/**
 * What may be told of a tool's name. A model can make up any name, of any length and with anything in it, so only names
 * of tools that there are leave the server.
 */

export interface ToolNames {
  /** One of a fixed set: tools of MCP servers are one of it, as they come and go. */
  label(tool: string): string;
  /** The name, of any tool that there is. */
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
