/**
 * Turns messages of the journal into a prompt of the provider layer.
 *
 * The journal may hold anything that a model or a client ever wrote; a prompt must be acceptable to every provider. So
 * this mapping handles every input, and follows three rules that the providers share:
 * - one system message, at the start (several providers, and most local chat templates, refuse a later one);
 * - the results of parallel tool calls in one tool message;
 * - no empty text and no empty message.
 */
import type {
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type {
  AssistantPart,
  ImagePart,
  Message,
  ProviderMetadata,
  TextPart,
} from '../../journal/messages.ts';
import { ModelError, type ToolDefinition } from './model.ts';

export function toPrompt(messages: readonly Message[]): LanguageModelV4Prompt {
  const system = messages.flatMap((message) =>
    message.role === 'system' && message.content ? [message.content] : [],
  );
  const prompt: LanguageModelV4Prompt = [];
  if (system.length > 0) prompt.push({ role: 'system', content: system.join('\n\n') });
  for (const message of messages) {
    const last = prompt.at(-1);
    if (message.role === 'tool' && last?.role === 'tool') {
      last.content.push(toToolResult(message));
      continue;
    }
    const mapped = toPromptMessage(message);
    if (mapped && mapped.content.length > 0) prompt.push(mapped);
  }
  return prompt;
}

export function toFunctionTools(tools: readonly ToolDefinition[]): LanguageModelV4FunctionTool[] {
  return tools.map((tool) => ({
    type: 'function',
    name: tool.name,
    description: tool.description,
    inputSchema: tool.parameters,
    ...(tool.strict === true ? { strict: true } : {}),
  }));
}

function toPromptMessage(message: Message): LanguageModelV4Message | undefined {
  switch (message.role) {
    case 'system':
      return undefined;
    case 'user':
      return { role: 'user', content: toUserContent(message.content) };
    case 'assistant':
      return { role: 'assistant', content: message.content.flatMap(toAssistantPart) };
    case 'tool':
      return { role: 'tool', content: [toToolResult(message)] };
  }
}

function toUserContent(
  content: string | (TextPart | ImagePart)[],
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  if (typeof content === 'string') return content ? [{ type: 'text', text: content }] : [];
  return content.flatMap((part): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] => {
    if (part.type === 'image') return [toFilePart(part.url)];
    return part.text ? [{ type: 'text', text: part.text }] : [];
  });
}

type PromptAssistantPart = (LanguageModelV4Message & { role: 'assistant' })['content'][number];

function toAssistantPart(part: AssistantPart): PromptAssistantPart[] {
  const options = part.metadata && { providerOptions: toProviderOptions(part.metadata) };
  switch (part.type) {
    case 'text':
    case 'reasoning':
      // A part without text still matters if it carries a signature.
      return part.text || options ? [{ type: part.type, text: part.text, ...options }] : [];
    case 'tool_call':
      return [
        {
          type: 'tool-call',
          toolCallId: part.id,
          toolName: part.tool,
          input: toToolInput(part.arguments),
          ...options,
        },
      ];
  }
}

/**
 * Providers expect an object here. Other arguments are kept readable under one key, so that the model can see in its
 * own history what it wrote and why the tool refused it.
 */
function toToolInput(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Falls through: not JSON.
  }
  return { malformed_arguments: text };
}

function toToolResult(message: Message & { role: 'tool' }): LanguageModelV4ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId: message.tool_call_id,
    toolName: message.tool,
    output: { type: message.is_error ? 'error-text' : 'text', value: message.output || '(no output)' },
  };
}

function toFilePart(url: string): LanguageModelV4FilePart {
  const parsed = URL.parse(url);
  if (parsed?.protocol === 'data:') {
    const data = /^data:([^;,]*)((?:;[^;,]*)*),(.*)$/s.exec(url);
    if (data) {
      const [, mediaType = '', parameters = '', payload = ''] = data;
      const base64 = /;base64$/i.test(parameters) ? payload : percentToBase64(payload);
      return { type: 'file', mediaType: mediaType || 'image/*', data: { type: 'data', data: base64 } };
    }
  }
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') {
    return { type: 'file', mediaType: mediaTypeOfPath(parsed.pathname), data: { type: 'url', url: parsed } };
  }
  throw new ModelError('provider_bad_request', 'An image must have an http, https or data URL.', {
    retryable: false,
  });
}

/** Decodes bytes, not text: percent-encoded data need not be UTF-8. */
function percentToBase64(payload: string): string {
  const bytes = Buffer.from(payload).toString('latin1');
  const decoded = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1').toString('base64');
}

/** Most providers look at the image itself; Gemini wants a full media type next to the URL. */
function mediaTypeOfPath(path: string): string {
  const extension = /\.(png|gif|webp|bmp|heic|heif)$/i.exec(path)?.[1]?.toLowerCase();
  return `image/${extension ?? 'jpeg'}`;
}

/** Metadata came from the provider as JSON and went through the journal as JSON. */
function toProviderOptions(metadata: ProviderMetadata): SharedV4ProviderOptions {
  return metadata as SharedV4ProviderOptions;
}
