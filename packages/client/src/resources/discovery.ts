/**
 * What a server reports about itself: `/v1/models`, `/v1/skills`, `/v1/toolsets`, `/v1/directories`, `/v1/capabilities`,
 * `/health`.
 */
import type {
  Capabilities,
  DirectoryList,
  Health,
  HealthDetailed,
  ModelList,
  ModelOptions,
  SkillList,
  ToolsetList,
} from '@talaria/protocol';
import type { RequestOptions, Transport } from '../transport.ts';

export class Models {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(options?: RequestOptions): Promise<ModelList> {
    return this.#transport.json<ModelList>({ method: 'GET', path: '/v1/models', repeat: true }, options);
  }

  /** The models that a user can pick from. */
  options(options?: RequestOptions): Promise<ModelOptions> {
    return this.#transport.json({ method: 'GET', path: '/api/model/options', repeat: true }, options);
  }
}

export class Skills {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(options?: RequestOptions): Promise<SkillList> {
    return this.#transport.json({ method: 'GET', path: '/v1/skills', repeat: true }, options);
  }
}

export class Toolsets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(options?: RequestOptions): Promise<ToolsetList> {
    return this.#transport.json({ method: 'GET', path: '/v1/toolsets', repeat: true }, options);
  }
}

export class Directories {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The operator's directories that runs of the key may begin with or work in. */
  list(options?: RequestOptions): Promise<DirectoryList> {
    return this.#transport.json({ method: 'GET', path: '/v1/directories', repeat: true }, options);
  }
}

export class CapabilitiesResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get(options?: RequestOptions): Promise<Capabilities> {
    const call = { method: 'GET', path: '/v1/capabilities', repeat: true } as const;
    return this.#transport.json<Capabilities>(call, options);
  }
}

export class HealthResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Needs no key. */
  get(options?: RequestOptions): Promise<Health> {
    return this.#transport.json<Health>({ method: 'GET', path: '/health', repeat: true }, options);
  }

  detailed(options?: RequestOptions): Promise<HealthDetailed> {
    const call = { method: 'GET', path: '/health/detailed', repeat: true } as const;
    return this.#transport.json<HealthDetailed>(call, options);
  }
}
