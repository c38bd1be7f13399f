/**
 * The names of MCP tools for the model: `mcp__<server>__<tool>`.
 *
 * Every provider accepts names of up to 64 letters, digits, `_` and `-`. A tool whose own name is longer or has other
 * characters gets a readable part and a hash of its name. The result depends only on the two names, so a lasting
 * approval means the same tool after any restart. A server's name contains no `__` (see the configuration), so the
 * first one after the prefix ends it.
 */
import { createHash } from 'node:crypto';

const MAX_CHARS = 64;
const HASH_CHARS = 8;

export function toolName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`;
  if (plain.length <= MAX_CHARS && /^[A-Za-z0-9_-]+$/.test(tool)) return plain;
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARS);
  const readable = plain.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_CHARS - HASH_CHARS - 1);
  return `${readable}_${hash}`;
}

/** The server that a tool of this name would belong to. */
export function serverOf(name: string): string | undefined {
  return /^mcp__(.+?)__/.exec(name)?.[1];
}
