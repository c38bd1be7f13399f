/** The client. Each part of the API is a property, such as `client.runs.create(…)`. */

import { reconnecting } from './reconnects.ts';
import { Approvals, Grants } from './resources/approvals.ts';
import { Chat } from './resources/chat.ts';
import { Completions, Embeddings } from './resources/completions.ts';
import {
  CapabilitiesResource,
  Directories,
  HealthResource,
  Models,
  Skills,
  Toolsets,
} from './resources/discovery.ts';
import { Files } from './resources/files.ts';
import { Jobs } from './resources/jobs.ts';
import { Responses } from './resources/responses.ts';
import { Runs } from './resources/runs.ts';
import { Sessions } from './resources/sessions.ts';
import { Slots } from './resources/slots.ts';
import { Tools } from './resources/tools.ts';
import { type FeedOptions, RunFeed } from './run-feed.ts';
import { type Fetch, Transport } from './transport.ts';

export interface TalariaOptions {
  /** Default: the environment's `TALARIA_BASE_URL`, else `http://127.0.0.1:8642`. */
  baseUrl?: string | undefined;
  /** Default: the environment's `TALARIA_API_KEY`, else its `HERMES_API_KEY`. `null` means no key. */
  apiKey?: string | null | undefined;
  /** Milliseconds for each attempt of a request. Default one minute, and ten minutes for answers of a model. */
  timeout?: number | undefined;
  /** How often a request is retried, where that is safe. Default 3. */
  maxRetries?: number | undefined;
  /** Default: the global `fetch`. */
  fetch?: Fetch | undefined;
  /** Sent with every request. */
  headers?: Record<string, string> | undefined;
}

const BASE_URL = 'http://127.0.0.1:8642';
const MAX_RETRIES = 3;

export class Talaria {
  readonly baseUrl: string;
  readonly runs: Runs;
  readonly sessions: Sessions;
  readonly chat: Chat;
  readonly completions: Completions;
  readonly embeddings: Embeddings;
  readonly responses: Responses;
  readonly models: Models;
  readonly skills: Skills;
  readonly toolsets: Toolsets;
  readonly directories: Directories;
  readonly capabilities: CapabilitiesResource;
  readonly health: HealthResource;
  readonly jobs: Jobs;
  readonly files: Files;
  readonly approvals: Approvals;
  readonly grants: Grants;
  readonly tools: Tools;
  readonly slots: Slots;
  readonly #transport: Transport;

  constructor(options: TalariaOptions = {}) {
    const { headers = {}, timeout, maxRetries = MAX_RETRIES } = options;
    const apiKey =
      options.apiKey === undefined ? (env('TALARIA_API_KEY') ?? env('HERMES_API_KEY')) : options.apiKey;
    this.baseUrl = toBaseUrl(options.baseUrl ?? env('TALARIA_BASE_URL') ?? BASE_URL);
    const transport = new Transport({
      baseUrl: this.baseUrl,
      apiKey: apiKey?.trim() || undefined,
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      headers,
      timeout,
      maxRetries,
    });
    this.#transport = transport;
    const begun = new Set<string>();
    this.runs = new Runs(transport, begun);
    this.tools = new Tools(this.runs, begun);
    this.sessions = new Sessions(transport);
    this.chat = new Chat(transport);
    this.completions = new Completions(transport);
    this.embeddings = new Embeddings(transport);
    this.responses = new Responses(transport);
    this.models = new Models(transport);
    this.skills = new Skills(transport);
    this.toolsets = new Toolsets(transport);
    this.directories = new Directories(transport);
    this.capabilities = new CapabilitiesResource(transport);
    this.health = new HealthResource(transport);
    this.jobs = new Jobs(transport);
    this.files = new Files(transport);
    this.approvals = new Approvals(transport);
    this.grants = new Grants(transport);
    this.slots = new Slots(transport);
  }

  /** The runs of the key as they change, without their answers. Connects when it is read, and has no end. */
  feed(options: FeedOptions = {}): RunFeed {
    const { request, ...reconnects } = reconnecting(options);
    const { after, ...rest } = request;
    return new RunFeed({
      after,
      ...reconnects,
      signal: rest.signal,
      connect: (cursor, again) =>
        this.#transport.open(
          {
            method: 'GET',
            path: '/v1/feed',
            headers: { 'last-event-id': cursor },
            events: true,
            repeat: true,
          },
          again ? { ...rest, maxRetries: 0 } : rest,
        ),
    });
  }
}

/** Removes the `/v1` that users of OpenAI's clients put there. Rejects a password, which would end up in messages. */
function toBaseUrl(given: string): string {
  let url: URL | undefined;
  try {
    url = new URL(given);
  } catch {}
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError('baseUrl must be an http or https URL without a user name or password');
  }
  return url.origin + url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/** Browsers have no environment, and some runtimes ask the user before they show it. */
function env(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  try {
    return process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}
