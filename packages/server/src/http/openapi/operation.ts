/** What the OpenAPI document says of one route. */
import type { TSchema } from 'typebox';

export interface Operation {
  tag: 'runs' | 'slots' | 'openai' | 'sessions' | 'jobs' | 'discovery' | 'health';
  summary: string;
  description?: string;
  /** Needs no key. */
  open?: boolean;
  headers?: Record<string, TSchema>;
  query?: Record<string, TSchema>;
  /** Names of required query parameters. */
  required?: string[];
  body?: TSchema;
  /** The content type of the request's body; JSON by default. */
  bodyType?: string;
  /** Whether the body is optional. */
  optionalBody?: boolean;
  /** The status of a successful response. */
  status?: number;
  answer?: TSchema;
  /** The content type of the response; JSON by default. */
  contentType?: string | readonly string[];
  /** Further responses that are not errors. */
  also?: Record<number, string>;
  /** Whether the response can also be a stream of server-sent events. */
  streams?: true;
  errors?: number[];
}
