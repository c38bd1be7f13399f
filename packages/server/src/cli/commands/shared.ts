/** Arguments and options that several commands have. */
import { DEFAULT_URL } from '../client/server-address.ts';

export const server = {
  type: 'text',
  value: 'url',
  about: `where the server is [TALARIA_BASE_URL; default ${DEFAULT_URL}]`,
} as const;

export const json = { type: 'flag', about: 'print JSON, for programs' } as const;
export const jsonLines = { type: 'flag', about: 'print each event as a line of JSON, for programs' } as const;
export const verbose = {
  type: 'flag',
  short: 'v',
  about: 'show what every tool answered and what every step took',
} as const;

export const run = {
  name: 'run',
  about: 'id of a run; its beginning is enough if no other run begins the same',
  completes: 'run',
} as const;

export const seq = { type: 'integer', value: 'seq', min: 0, max: Number.MAX_SAFE_INTEGER } as const;
