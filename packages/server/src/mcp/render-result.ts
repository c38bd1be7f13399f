/**
 * The result of an MCP tool as text for the model. Text stays unchanged; other content (images, sound, binary
 * resources) is described, because a model could not use it as base64.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { ToolOutcome } from '../agent/tools/tool.ts';
import { boundText } from './bounded-text.ts';

/** As for every tool; see docs/tools.md. */
const OUTPUT_LIMIT_BYTES = 50_000;

export function renderResult({ content, structuredContent, isError }: CallToolResult): ToolOutcome {
  const parts = content.map(renderBlock);
  if (structuredContent !== undefined && !content.some((block) => says(block, structuredContent))) {
    parts.push(JSON.stringify(structuredContent));
  }
  const text = parts.filter((part) => part !== '').join('\n');
  return {
    output: text === '' ? '[the tool returned nothing]' : boundText(text, OUTPUT_LIMIT_BYTES),
    isError: isError === true,
  };
}

function renderBlock(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type} of type ${block.mimeType}, ${base64Bytes(block.data)} bytes]`;
    case 'resource_link': {
      const about = [block.title ?? block.name, block.description].filter(Boolean).join(': ');
      return `[link to the resource ${block.uri}${about === '' ? '' : ` (${about})`}]`;
    }
    case 'resource': {
      const { resource } = block;
      const type = resource.mimeType === undefined ? '' : ` of type ${resource.mimeType}`;
      if ('text' in resource) return `[resource ${resource.uri}${type}]\n${resource.text}`;
      return `[resource ${resource.uri}${type}, ${base64Bytes(resource.blob)} bytes]`;
    }
    default:
      return `[content of a type that is not known here: ${String((block as { type: unknown }).type)}]`;
  }
}

/** Servers repeat their structured result as text for clients that know no other form. */
function says(block: ContentBlock, value: unknown): boolean {
  if (block.type !== 'text') return false;
  try {
    return isDeepStrictEqual(JSON.parse(block.text), value);
  } catch {
    return false;
  }
}

function base64Bytes(data: string): number {
  return Buffer.byteLength(data, 'base64');
}
