/**
 * The setting `mcp_servers`: name → how to start the server, or where to reach it. The shape is the one other MCP
 * hosts use, so that an entry can be copied from a server's own documentation.
 *
 * All problems are reported together, each with its place. A message names places and never values: nearly every
 * value here may be a secret.
 */
import { isAbsolute } from 'node:path';
import { didYouMean } from '../../basics/nearest.ts';
import { isJsonObject, type JsonObject, readsJsonObject } from './json-object.ts';
import {
  boolean,
  choice,
  HIDDEN,
  type Kind,
  LONGEST_TIMER_SECONDS,
  type Read,
  type ReadContext,
  readPath,
  seconds,
} from './kinds.ts';
import { secretsIn, secretsInArguments, secretsInPath } from './plain-values.ts';
import { resolveReferences } from './references.ts';

export interface McpServerConfig {
  readonly name: string;
  readonly transport: StdioConfig | HttpConfig;
  readonly enabled: boolean;
  readonly approval: 'never' | 'always';
  /** The tools that may be used, by the server's own names; all of them if absent. */
  readonly tools: readonly string[] | undefined;
  /** The timeout of one call, if it differs from that of all tools. */
  readonly timeoutSeconds: number | undefined;
  readonly connectTimeoutSeconds: number;
  /** The parts of it that must be masked. */
  readonly secrets: readonly string[];
  /** As it was given, with secrets masked. */
  readonly shown: JsonObject;
}

export interface StdioConfig {
  readonly kind: 'stdio';
  /** A name to be found in the PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute; the server's own working directory if absent. */
  readonly cwd: string | undefined;
}

export interface HttpConfig {
  readonly kind: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const DEFAULT_CONNECT_TIMEOUT_SECONDS = 30;

/** Single separators only: `__` separates the parts of a tool's name. */
const NAME = /^(?=.{1,32}$)[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const STDIO_KEYS = ['command', 'args', 'env', 'cwd'];
const HTTP_KEYS = ['url', 'headers'];
const COMMON_KEYS = ['type', 'enabled', 'approval', 'tools', 'timeout_seconds', 'connect_timeout_seconds'];
const KEYS = [...STDIO_KEYS, ...HTTP_KEYS, ...COMMON_KEYS];
/** The names that other hosts use for the two ways to reach a server. */
const TYPES: Readonly<Record<string, 'stdio' | 'http'>> = {
  stdio: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
};

const approval = choice(['never', 'always']);
const enabled = boolean();
const timeout = seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS });
const connectTimeout = seconds({ min: 0.1, max: 3600 });

export function mcpServers(): Kind<readonly McpServerConfig[]> {
  return {
    name: 'json',
    allowed:
      'a JSON object of servers by name, each {"command", "args", "env", "cwd"} or {"url", "headers"}; see docs/mcp.md',
    secret: true,
    ...readsJsonObject(readServers),
    shown: () => HIDDEN,
    format: (servers) =>
      servers.length === 0 ? '' : JSON.stringify(Object.fromEntries(servers.map((s) => [s.name, s.shown]))),
  };
}

function readServers(object: JsonObject, context: ReadContext): Read<readonly McpServerConfig[]> {
  const problems: string[] = [];
  const servers: McpServerConfig[] = [];
  for (const [name, entry] of Object.entries(object)) {
    if (!NAME.test(name)) {
      problems.push(
        `${JSON.stringify(name.slice(0, 40))} must be a name of 1 to 32 letters, digits and single - or _ between them`,
      );
    } else if (!isJsonObject(entry)) {
      problems.push(`${name} must be an object`);
    } else {
      servers.push(new EntryReader(name, entry, context, problems).read());
    }
  }
  return problems.length === 0 ? { value: servers } : { refused: problems.join('; ') };
}

/** Reads one entry. For an invalid value it adds a problem and continues with a placeholder. */
class EntryReader {
  readonly #name: string;
  readonly #entry: JsonObject;
  readonly #context: ReadContext;
  readonly #problems: string[];
  readonly #secrets = new Set<string>();

  constructor(name: string, entry: JsonObject, context: ReadContext, problems: string[]) {
    this.#name = name;
    this.#entry = entry;
    this.#context = context;
    this.#problems = problems;
  }

  read(): McpServerConfig {
    const entry = this.#entry;
    for (const key of Object.keys(entry)) {
      if (!KEYS.includes(key)) this.#refuse(key.slice(0, 40), `is not known${didYouMean(key, KEYS)}`);
    }
    return {
      name: this.#name,
      transport: this.#transport(),
      enabled: this.#value('enabled', enabled, true),
      approval: this.#value('approval', approval, 'never'),
      tools: this.#tools(),
      timeoutSeconds: this.#value('timeout_seconds', timeout, undefined),
      connectTimeoutSeconds: this.#value(
        'connect_timeout_seconds',
        connectTimeout,
        DEFAULT_CONNECT_TIMEOUT_SECONDS,
      ),
      secrets: [...this.#secrets],
      shown: shownEntry(entry),
    };
  }

  #transport(): StdioConfig | HttpConfig {
    const { command, url, type } = this.#entry;
    if ((command === undefined) === (url === undefined)) {
      const which = command === undefined ? 'neither' : 'both';
      this.#refuse('', `must have either command or url, and has ${which}`);
      return { kind: 'http', url: '', headers: {} };
    }
    const kind = command === undefined ? 'http' : 'stdio';
    const [own, others] = kind === 'stdio' ? [STDIO_KEYS, HTTP_KEYS] : [HTTP_KEYS, STDIO_KEYS];
    for (const key of others.slice(1)) {
      if (this.#entry[key] !== undefined) this.#refuse(key, `does not go with ${own[0]}`);
    }
    if (type === 'sse') {
      this.#refuse('type', 'is "sse", which MCP has dropped: use the Streamable HTTP address of the server');
    } else if (type !== undefined && (typeof type !== 'string' || TYPES[type] !== kind)) {
      this.#refuse('type', `must be "${kind}" for a server with ${own[0]}, or be left out`);
    }
    return kind === 'stdio' ? this.#stdio() : this.#http();
  }

  #stdio(): StdioConfig {
    const { command, env = {}, cwd } = this.#entry;
    const args = this.#list('args', this.#entry.args ?? []).map((arg, index) =>
      this.#text(`args[${index}]`, arg, { empty: true }),
    );
    for (const secret of secretsInArguments(args)) this.#secrets.add(secret);
    return {
      kind: 'stdio',
      command: this.#program(this.#text('command', command)),
      args,
      env: this.#record('env', env, (place, name, value) => {
        if (!VARIABLE.test(name)) this.#refuse(place, 'is not the name of a variable');
        return this.#text(place, value, { empty: true, name });
      }),
      cwd: cwd === undefined ? undefined : this.#path('cwd', this.#text('cwd', cwd)),
    };
  }

  #http(): HttpConfig {
    const { url, headers = {} } = this.#entry;
    return {
      kind: 'http',
      url: this.#url(this.#text('url', url)),
      headers: this.#record('headers', headers, (place, name, value) => {
        if (!HEADER_NAME.test(name)) this.#refuse(place, 'is not the name of a header');
        const text = this.#text(place, value, { name });
        if (!HEADER_VALUE.test(text)) this.#refuse(place, 'must be one line of Latin-1 text');
        return text;
      }),
    };
  }

  /** A bare name is looked up in the PATH when the server is started; anything else is a path. */
  #program(command: string): string {
    return command.includes('/') ? this.#path('command', command) : command;
  }

  #path(key: string, text: string): string {
    if (text === '' || isAbsolute(text)) return text;
    const read = readPath(text, this.#context);
    if ('value' in read) return read.value;
    this.#refuse(key, read.refused === '' ? 'must be a path' : `must be a path: ${read.refused}`);
    return text;
  }

  #url(text: string): string {
    const url = URL.parse(text);
    if (text === '') return text;
    if (url === null || !/^https?:$/.test(url.protocol) || url.hash !== '') {
      this.#refuse('url', 'must be an http:// or https:// URL without fragment');
      return text;
    }
    if (url.username !== '' || url.password !== '') {
      this.#refuse('url', 'must not contain a user name or password: give them in headers');
    }
    for (const [name, value] of url.searchParams) this.#keepSecret(name, value);
    for (const part of secretsInPath(url.pathname)) this.#secrets.add(part);
    return url.href;
  }

  #tools(): string[] | undefined {
    const { tools } = this.#entry;
    if (tools === undefined) return undefined;
    const names = this.#list('tools', tools);
    if (Array.isArray(tools) && names.length === 0) {
      this.#refuse('tools', 'must name at least one tool; to use none, set enabled to false');
    }
    return names.map((name, index) => {
      if (typeof name === 'string' && name !== '') return name;
      this.#refuse(`tools[${index}]`, `must be the name of a tool, not ${typeName(name)}`);
      return '';
    });
  }

  /** A text with its references resolved; `name` says what its value is for. */
  #text(place: string, value: unknown, options: { empty?: boolean; name?: string } = {}): string {
    if (typeof value !== 'string') {
      // A missing command or url is already reported.
      if (value !== undefined) this.#refuse(place, `must be a string, not ${typeName(value)}`);
      return '';
    }
    const { text, used } = resolveReferences(value, this.#context.env);
    for (const [variable, found] of used) {
      if (found !== undefined) this.#keepSecret(variable, found);
      // A disabled server does not need its secrets.
      else if (this.#entry.enabled !== false) {
        this.#refuse(place, `refers to \${${variable}}, which is not set in the environment`);
        return '';
      }
    }
    if (options.name !== undefined) this.#keepSecret(options.name, text);
    if (text.includes('\0')) this.#refuse(place, 'must not contain a NUL character');
    if (text.trim() === '' && options.empty !== true && used.size === 0) {
      this.#refuse(place, 'must not be empty');
    }
    return text;
  }

  #list(key: string, value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value;
    this.#refuse(key, `must be an array of strings, not ${typeName(value)}`);
    return [];
  }

  #record(
    key: string,
    value: unknown,
    read: (place: string, name: string, value: unknown) => string,
  ): Record<string, string> {
    if (!isJsonObject(value)) {
      this.#refuse(key, `must be an object of strings, not ${typeName(value)}`);
      return {};
    }
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [name, read(`${key}.${name.slice(0, 80)}`, name, entry)]),
    );
  }

  #value<T, D>(key: string, kind: Kind<T>, fallback: D): T | D {
    const given = this.#entry[key];
    if (given === undefined) return fallback;
    const read = kind.fromJson(given, this.#context);
    if ('value' in read) return read.value;
    this.#refuse(key, `must be ${kind.allowed}`);
    return fallback;
  }

  #keepSecret(name: string, value: string): void {
    for (const secret of secretsIn(name, value)) this.#secrets.add(secret);
  }

  #refuse(place: string, problem: string): void {
    this.#problems.push(`${this.#name}${place === '' ? '' : `.${place}`} ${problem}`);
  }
}

function shownEntry(entry: JsonObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, shownValue(key, value)]));
}

/** References are shown as written: they are not secret. */
function shownValue(key: string, value: unknown): unknown {
  const hide = (text: string, secrets: readonly string[]) =>
    secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
  if (key === 'args' && isStrings(value)) return value.map((arg) => hide(arg, secretsInArguments(value)));
  if (key === 'url' && typeof value === 'string') {
    const [path = '', query] = value.split('?', 2);
    return hide(path, secretsInPath(path)) + (query === undefined ? '' : `?${HIDDEN}`);
  }
  if (!['env', 'headers'].includes(key) || !isJsonObject(value)) return value;
  return Object.fromEntries(Object.keys(value).map((name) => [name, HIDDEN]));
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return value === '' ? 'an empty string' : `a ${typeof value}`;
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
