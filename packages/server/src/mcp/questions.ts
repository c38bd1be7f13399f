/**
 * What an MCP server asks of a person during a call (elicitation). Nobody can be asked: the client does not declare that it
 * can, a server that asks nevertheless is told so, and so is the model, which may ask the user in its answer.
 */
import type { CallToolResult } from '@modelcontextprotocol/client';

export const NOBODY_ASKED = 'Talaria declined, because nobody can be asked during a call';

/** As text for the model; neither masked nor cut. */
export function describeQuestion(request: { method: string; params?: unknown }): string {
  const { message, url } = (request.params ?? {}) as { message?: unknown; url?: unknown };
  const words = [message, url].filter((part) => typeof part === 'string').join(' ');
  return words === '' ? request.method : JSON.stringify(words);
}

export function withQuestions(result: CallToolResult, questions: readonly string[]): CallToolResult {
  const notes = questions.map((question) => ({
    type: 'text' as const,
    text: `[During this call the MCP server asked a person: ${question}. ${NOBODY_ASKED}.]`,
  }));
  return { ...result, content: [...result.content, ...notes] };
}
