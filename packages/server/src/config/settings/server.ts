/** Where the server listens, which part it plays, who may call it. */

import { boolean, choice, integer, secret, string } from '../kinds/kinds.ts';
import { apiKeys, type CorsOrigins, corsOrigins, host, httpUrl } from '../kinds/network-kinds.ts';
import { define } from './setting.ts';

export const serverSettings = {
  role: define({
    env: 'TALARIA_ROLE',
    key: 'role',
    kind: choice(['all', 'http', 'work']),
    default: 'all',
    group: 'Server',
    about:
      'the part of this process where several share one Postgres: `http` serves clients, `work` works on runs, jobs and webhooks, `all` does both',
  }),
  host: define({
    env: 'API_SERVER_HOST',
    key: 'host',
    kind: host(),
    default: '127.0.0.1',
    group: 'Server',
    about: 'address to listen on; any address but loopback needs a key',
  }),
  port: define({
    env: 'API_SERVER_PORT',
    key: 'port',
    kind: integer({ min: 0, max: 65_535 }),
    default: 8642,
    group: 'Server',
    about: 'port to listen on; 0 takes any free one',
  }),
  advertiseUrl: define({
    env: 'TALARIA_ADVERTISE_URL',
    key: 'advertise_url',
    kind: httpUrl(),
    default: undefined,
    defaultText: 'the address it listens on, or the first address of the machine that others can use',
    group: 'Server',
    about: 'where the other servers on the same Postgres reach this one, for the files of runs',
  }),
  apiKey: define({
    env: 'API_SERVER_KEY',
    key: 'api_key',
    kind: secret(),
    default: undefined,
    group: 'Server',
    about: 'key that clients send as a bearer token; its name is `default`',
  }),
  apiKeys: define({
    env: 'API_SERVER_KEYS',
    key: 'api_keys',
    kind: apiKeys(),
    default: undefined,
    group: 'Server',
    about: 'several named keys, `name:key,name2:key2`; each sees only its own runs',
  }),
  corsOrigins: define({
    env: 'API_SERVER_CORS_ORIGINS',
    key: 'cors_origins',
    kind: corsOrigins(),
    default: [] as CorsOrigins,
    defaultText: 'none',
    group: 'Server',
    about: 'origins whose pages may call the server from a browser, comma-separated, or `*`',
  }),
  ui: define({
    env: 'TALARIA_UI',
    key: 'ui',
    kind: boolean(),
    default: true,
    group: 'Server',
    about: 'whether the server has its web page at `/ui/`',
  }),
  modelName: define({
    env: 'API_SERVER_MODEL_NAME',
    key: 'model_name',
    kind: string(),
    default: 'hermes-agent',
    group: 'Server',
    about: 'model name that clients see',
  }),
};
