/**
 * One configured MCP server, kept connected for as long as Talaria runs.
 *
 *   disabled
 *   connecting ─tools listed→ ready ─lost→ failed ─pause→ connecting
 *   connecting ─refused, silent, ended→ failed
 *   any ─close→ closed
 *
 * The pause doubles with each failure up to half a minute, and starts small again after a connection has lasted for a
 * while: a server that dies at every start is not restarted in a loop. Nothing waits for any of this: a server offers
 * what it has now, and a call to one that is not ready gets the reason at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Tool, ToolOutcome } from '../agent/tools/tool.ts';
import type { Log } from '../basics/log.ts';
import type { McpServerConfig } from '../config/index.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { CallFailure, ConnectFailure } from './failures.ts';
import { createMcpTool } from './mcp-tool.ts';
import { firstNegotiation, type Negotiation, otherNegotiation } from './negotiation.ts';
import { renderResult } from './render-result.ts';
import type { ListedTool, Session } from './session.ts';

const PAUSE_MIN_MS = 500;
const PAUSE_MAX_MS = 30_000;
/** A connection that lasted this long was a good one. */
const STEADY_MS = 30_000;

export interface McpServerOptions {
  config: McpServerConfig;
  environment: Readonly<Record<string, string | undefined>>;
  /** The timeout of a call if the server has none of its own. */
  toolTimeoutSeconds: number;
  secrets: Secrets;
  log: Log;
}

export interface McpServerHealth {
  name: string;
  transport: 'stdio' | 'http';
  status: 'disabled' | 'connecting' | 'ready' | 'failed';
  /** The last failure, while it is not ready. */
  reason?: string;
  /** When it got into this status, ISO 8601. */
  since: string;
  /** How often it was connected again. */
  restarts: number;
  approval: 'never' | 'always';
  /** The names that the model sees. */
  tools: string[];
}

export class McpServer {
  readonly #options: McpServerOptions;
  readonly #closing = new AbortController();
  readonly #firstAttempt = Promise.withResolvers<void>();
  #status: McpServerHealth['status'];
  #reason = '';
  #since = Date.now();
  #restarts = 0;
  #tools: readonly Tool[] = [];
  #session: Session | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(options: McpServerOptions) {
    this.#options = options;
    this.#status = options.config.enabled ? 'connecting' : 'disabled';
  }

  get name(): string {
    return this.#options.config.name;
  }

  /** Resolves when the first attempt to connect has succeeded or failed. */
  get tried(): Promise<void> {
    return this.#firstAttempt.promise;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  start(): void {
    if (this.#status === 'disabled') this.#firstAttempt.resolve();
    else this.#work = this.#keepConnected();
  }

  health(): McpServerHealth {
    const { config } = this.#options;
    return {
      name: config.name,
      transport: config.transport.kind,
      status: this.#status,
      ...(this.#reason === '' ? {} : { reason: this.#reason }),
      since: new Date(this.#since).toISOString(),
      restarts: this.#restarts,
      approval: config.approval,
      tools: this.#tools.map(({ definition }) => definition.name),
    };
  }

  /** Why the tool of this name, which the server does not have now, cannot be called. */
  whyMissing(tool: string): string {
    const server = `The MCP server '${this.name}'`;
    if (this.#status === 'disabled') return `${server} is switched off.`;
    if (this.#status !== 'ready') return this.#unavailable(this.#reason);
    const names = this.health().tools.join(', ');
    return `${server} has no tool '${tool}' now. Its tools: ${names === '' ? 'none' : names}`;
  }

  /** Resolves when its processes are gone, in bounded time. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#session?.close();
    await this.#work;
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing;
    let failures = 0;
    let negotiation = firstNegotiation(this.#options.config);
    while (!signal.aborted) {
      const session = await this.#connect(negotiation);
      if (session === undefined) {
        negotiation = otherNegotiation(negotiation);
      } else {
        const readyAt = Date.now();
        const reason = await session.lost;
        if (Date.now() - readyAt >= STEADY_MS) failures = 0;
        this.#session = undefined;
        if (!signal.aborted) this.#fail(reason);
        await session.close();
      }
      if (signal.aborted) return;
      const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** failures);
      failures += 1;
      await delay(pauseMs, undefined, { signal }).catch(() => {});
      this.#restarts += 1;
      this.#enter('connecting');
    }
  }

  /** A ready session; undefined if there is none, and the reason is recorded. */
  async #connect(negotiation: Negotiation): Promise<Session | undefined> {
    const { log } = this.#options;
    const { signal } = this.#closing;
    try {
      // Loads the SDK, which a Talaria without MCP servers never does.
      const { Session } = await import('./session.ts');
      const onTools = (tools: readonly ListedTool[]) => this.#offer(tools);
      const session = await Session.open({ ...this.#options, negotiation, signal, onTools });
      if (signal.aborted) {
        await session.close();
        return undefined;
      }
      this.#session = session;
      this.#offer(session.tools);
      this.#reason = '';
      this.#enter('ready');
      log.info({ mcpServer: this.name, tools: this.#tools.length }, 'MCP server connected');
      return session;
    } catch (error) {
      if (error instanceof ConnectFailure) {
        if (!signal.aborted) this.#fail(error.message);
        return undefined;
      }
      // A bug of ours, or a broken installation; neither may break the runs.
      log.error({ mcpServer: this.name, err: error }, 'connecting an MCP server failed');
      this.#fail('could not be connected');
      return undefined;
    } finally {
      this.#firstAttempt.resolve();
    }
  }

  #fail(reason: string): void {
    const { log } = this.#options;
    const fields = { mcpServer: this.name, reason };
    // A server that stays away is logged once.
    if (reason === this.#reason) log.debug(fields, 'MCP server not available');
    else log.warn(fields, 'MCP server not available; trying again');
    this.#reason = reason;
    this.#tools = [];
    this.#enter('failed');
  }

  #enter(status: McpServerHealth['status']): void {
    this.#status = status;
    this.#since = Date.now();
  }

  #offer(listed: readonly ListedTool[]): void {
    const { config, log } = this.#options;
    const tools = new Map<string, Tool>();
    for (const tool of listed) {
      if (config.tools !== undefined && !config.tools.includes(tool.name)) continue;
      const { name: server, approval } = config;
      const made = createMcpTool({
        server,
        tool,
        approval,
        call: (args, signal) => this.#call(tool, args, signal),
      });
      // If a server lists a name twice, it counts as one tool.
      if (!tools.has(made.definition.name)) tools.set(made.definition.name, made);
    }
    this.#tools = [...tools.values()];
    const missing = config.tools?.filter((name) => !listed.some((tool) => tool.name === name)) ?? [];
    if (missing.length > 0) {
      log.warn(
        { mcpServer: config.name, missing },
        'the MCP server lacks tools that the configuration names',
      );
    }
  }

  async #call(tool: ListedTool, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome> {
    const session = this.#session;
    if (session === undefined) return { output: this.#unavailable(this.#reason), isError: true };
    const timeoutSeconds = this.#options.config.timeoutSeconds ?? this.#options.toolTimeoutSeconds;
    try {
      return renderResult(await session.call(tool, args, { signal, timeoutMs: timeoutSeconds * 1000 }));
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      return { output: this.#explain(error, timeoutSeconds), isError: true };
    }
  }

  #explain({ kind, message }: CallFailure, timeoutSeconds: number): string {
    const unknown =
      'It may have done all, part or nothing of its work. Check the state before you repeat it.';
    switch (kind) {
      case 'refused':
        return `The MCP server '${this.name}' did not carry out the call: it ${message}`;
      case 'unreached':
        return `The call did not reach the MCP server. ${this.#unavailable(message)}`;
      case 'timeout':
        return `The tool gave no answer within ${timeoutSeconds} s and was told to stop. ${unknown}`;
      case 'unknown':
        return `The MCP server '${this.name}' ${message} during this call, so its outcome is unknown. ${unknown}`;
      case 'stopped':
        return 'The call was stopped.';
    }
  }

  #unavailable(reason: string): string {
    const later = 'try again later, or continue without it.';
    if (reason === '') return `The MCP server '${this.name}' is being connected; ${later}`;
    return `The MCP server '${this.name}' is not available: it ${reason}. It is being connected again; ${later}`;
  }
}
