/** The names of what is tried, and with which clients: the rows and columns of the tables in docs/clients.md. */
export const APIS = ['chat', 'responses'] as const;
export type Api = (typeof APIS)[number];

export const FEATURES = [
  'text',
  'stream',
  'server tools',
  'server tools in a stream',
  'client tools',
  'client tools in a stream',
  'parallel client tools',
  'client and server tools in one step',
  'another agent takes over',
  'JSON schema',
  'typed answer by a tool',
  'JSON object',
  'several turns',
  'turns after server tools',
  'images',
  'a file is taken, or refused with a reason',
  'errors',
  'a failed run is not repeated',
  'a stopped run is not repeated',
  'a failed run in a stream',
] as const;
export type Feature = (typeof FEATURES)[number];

/** A client at a version: those from npm are named as in package.json, those from PyPI as in python/requirements. */
export const CLIENTS = {
  JavaScript: [
    'openai-4',
    'openai-5',
    'openai-6',
    'openai-7',
    '@openai/agents',
    'ai-sdk-openai-2',
    '@ai-sdk/openai',
    '@ai-sdk/openai-compatible',
    '@langchain/openai',
  ],
  Python: [
    'openai-1.40',
    'openai-1.93',
    'openai',
    'openai-agents',
    'langchain-openai',
    'pydantic-ai',
    'instructor',
    'litellm',
    'llm',
  ],
} as const;
export type Language = keyof typeof CLIENTS;
export type ClientId = (typeof CLIENTS)[Language][number];
