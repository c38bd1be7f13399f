/**
 * One connection to an MCP server, from its handshake to its end. Only this file and its imports load the SDK; they are
 * imported when the first server is connected.
 *
 *   connecting ─handshake, tools listed→ open ─lost or closed→ over
 *
 * - `open` resolves with a session whose tools are listed, or rejects with a `ConnectFailure`, within the configured
 *   timeout; a failed attempt leaves nothing behind.
 * - `lost` resolves when the session is over, with the reason as text. It never rejects.
 * - Nobody answers what a server asks of a person (`questions.ts`).
 * - A session over HTTP has no connection that could break, so it is checked: every half minute, when a stream breaks
 *   off, and after a call without an answer. The check lists the tools, which may have changed anyway.
 */
import {
  type CallToolResult,
  Client,
  isInputRequiredResult,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import type { Log } from '../basics/log.ts';
import { version } from '../basics/version.ts';
import type { McpServerConfig } from '../config/index.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { ChildLog } from './child-log.ts';
import { CallFailure, ConnectFailure } from './failures.ts';
import { HttpTransport } from './http-transport.ts';
import type { Negotiation } from './negotiation.ts';
import { describeQuestion, NOBODY_ASKED, withQuestions } from './questions.ts';
import {
  CONNECTION_LOST,
  describeError,
  failureKind,
  isAnswer,
  isClosed,
  isProbeTimeout,
  isSessionGone,
  isTimeout,
} from './sdk-errors.ts';
import { StdioTransport } from './stdio-transport.ts';

const CHECK_MS = 30_000;
/** How long a server may take to answer whether it speaks the newer protocol. Afterwards the older one is tried. */
const PROBE_MS = 5_000;
/** The minimum time between two checks because of failures: a server that fails often is not asked as often. */
const CHECK_GAP_MS = 2_000;
/** A burst of changes is one listing. */
const CHANGE_DEBOUNCE_MS = 50;
const REASON_CHARS = 500;
/** How often one call is continued for a server that only wants to be asked again. */
const MAX_ROUNDS = 10;

/** The server's description, without the output schema that the SDK would check a result against. */
export type ListedTool = Omit<Tool, 'outputSchema'>;

export interface SessionOptions {
  config: McpServerConfig;
  /** The environment from which a child process inherits a few variables. */
  environment: Readonly<Record<string, string | undefined>>;
  negotiation: Negotiation;
  secrets: Secrets;
  log: Log;
  /** Ends the attempt to connect. */
  signal: AbortSignal;
  /** Called with the tools of an open session whenever they were listed again. */
  onTools(tools: readonly ListedTool[]): void;
}

export class Session {
  readonly lost: Promise<string>;
  readonly #options: SessionOptions;
  readonly #client: Client;
  readonly #transport: StdioTransport | HttpTransport;
  readonly #childLog: ChildLog;
  readonly #probeMs: number;
  readonly #end = Promise.withResolvers<string>();
  /** What the server has asked during each call in progress. */
  readonly #questions = new Set<string[]>();
  #tools: readonly ListedTool[] = [];
  #open = false;
  #reason: string | undefined;
  #checking: Promise<void> | undefined;
  #checkAgain = false;
  #checkedAt = 0;
  #soon: NodeJS.Timeout | undefined;
  #regularly: NodeJS.Timeout | undefined;

  static async open(options: SessionOptions): Promise<Session> {
    const session = new Session(options);
    await session.#connect();
    return session;
  }

  private constructor(options: SessionOptions) {
    const { config, environment, negotiation } = options;
    this.#probeMs = Math.ceil(Math.min(PROBE_MS, config.connectTimeoutSeconds * 500));
    this.#options = options;
    this.lost = this.#end.promise;
    this.#childLog = new ChildLog({ ...options, server: config.name });
    this.#transport =
      config.transport.kind === 'http'
        ? new HttpTransport(config.transport)
        : new StdioTransport({
            config: config.transport,
            environment,
            onStderr: (text) => this.#childLog.push(text),
          });
    this.#client = new Client(
      { name: 'talaria', version },
      {
        versionNegotiation: { mode: negotiation, probe: { timeoutMs: this.#probeMs } },
        listChanged: {
          tools: { autoRefresh: false, debounceMs: CHANGE_DEBOUNCE_MS, onChanged: () => void this.#check() },
        },
      },
    );
    this.#client.fallbackRequestHandler = async (request) => this.#refuse(request);
    this.#client.onclose = () => this.#over(CONNECTION_LOST);
    this.#client.onerror = () => this.#checkSoon();
  }

  get tools(): readonly ListedTool[] {
    return this.#tools;
  }

  /** Rejects with a `CallFailure` and nothing else. */
  async call(
    tool: ListedTool,
    args: Record<string, unknown>,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<CallToolResult> {
    const questions: string[] = [];
    this.#questions.add(questions);
    try {
      const result = await this.#callToEnd(tool, args, { signal, timeout: timeoutMs });
      return withQuestions(result, questions);
    } catch (error) {
      if (error instanceof CallFailure) throw error;
      throw signal.aborted ? new CallFailure('stopped', 'the run was stopped') : this.#callFailure(error);
    } finally {
      this.#questions.delete(questions);
    }
  }

  async close(): Promise<void> {
    this.#over('was closed');
    await this.#client.close().catch(() => {});
    await this.#transport.close().catch(() => {});
  }

  async #connect(): Promise<void> {
    const { config, signal } = this.#options;
    const timeout = Math.ceil(config.connectTimeoutSeconds * 1000);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
    try {
      await this.#client.connect(this.#transport as Transport, { signal: limit, timeout });
      this.#tools = await this.#listTools(limit, timeout);
    } catch (error) {
      const reason = this.#whyNotConnected(error, limit);
      await this.close();
      throw new ConnectFailure(reason);
    }
    this.#open = true;
    if (config.transport.kind === 'http') {
      this.#regularly = setInterval(() => void this.#check(), CHECK_MS);
      this.#regularly.unref();
    }
  }

  async #callToEnd(
    tool: ListedTool,
    args: Record<string, unknown>,
    options: { signal: AbortSignal; timeout: number },
  ): Promise<CallToolResult> {
    let params: { name: string; arguments: Record<string, unknown>; requestState?: string } = {
      name: tool.name,
      arguments: args,
    };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      // With this definition the SDK does not look up an output schema and check the result against it: a call that did
      // its work must not be reported as failed because its result has the wrong form.
      const result: unknown = await this.#client.callTool(params, {
        ...options,
        toolDefinition: tool,
        allowInputRequired: true,
      });
      if (!isInputRequiredResult(result)) return result as CallToolResult;
      const { inputRequests = {}, requestState } = result;
      const questions = Object.values(inputRequests).map(describeQuestion);
      if (questions.length > 0) throw this.#unanswered(questions.join(', '));
      // Without a question it only wants to be called again, with what it says here.
      params = { ...params, ...(requestState !== undefined && { requestState }) };
    }
    throw new CallFailure('unknown', `asked ${MAX_ROUNDS} times to be called again`);
  }

  #unanswered(questions: string): CallFailure {
    return new CallFailure('refused', this.#shorten(`asks a person: ${questions}. ${NOBODY_ASKED}.`));
  }

  /** A request of the server. The answer is an error that says why. */
  #refuse(request: JSONRPCRequest): never {
    if (request.method !== 'elicitation/create')
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found');
    const question = this.#shorten(describeQuestion(request));
    for (const questions of this.#questions) questions.push(question);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, NOBODY_ASKED);
  }

  async #listTools(signal: AbortSignal, timeout: number): Promise<ListedTool[]> {
    // The SDK would print it on the standard output.
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const { tools } = await this.#client.listTools(undefined, { signal, timeout, cacheMode: 'refresh' });
    return tools.map(({ outputSchema: _, ...tool }) => tool);
  }

  /** Lists the tools again, which also shows whether the server is there. */
  #check(): Promise<void> {
    if (this.#checking !== undefined) {
      this.#checkAgain = true;
      return this.#checking;
    }
    this.#checking = (async () => {
      const timeout = Math.ceil(this.#options.config.connectTimeoutSeconds * 1000);
      do {
        this.#checkAgain = false;
        this.#checkedAt = Date.now();
        try {
          this.#tools = await this.#listTools(AbortSignal.timeout(timeout), timeout);
          if (this.#open) this.#options.onTools(this.#tools);
        } catch (error) {
          this.#checkFailed(error);
        }
      } while (this.#checkAgain && this.#open);
    })().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  #checkFailed(error: unknown): void {
    const { log, config } = this.#options;
    const reason = isTimeout(error) ? 'does not answer any more' : this.#describe(error);
    if (isAnswer(error))
      log.warn({ mcpServer: config.name, reason }, 'the MCP server does not list its tools');
    else this.#over(reason);
  }

  #checkSoon(): void {
    if (!this.#open || this.#soon !== undefined) return;
    const delayMs = Math.max(0, this.#checkedAt + CHECK_GAP_MS - Date.now());
    this.#soon = setTimeout(() => {
      this.#soon = undefined;
      if (this.#open) void this.#check();
    }, delayMs);
  }

  /** The first reason counts, except that how a process ended says more than that it did. */
  #over(reason: string): void {
    const wasOpen = this.#open;
    this.#open = false;
    clearTimeout(this.#soon);
    clearInterval(this.#regularly);
    this.#childLog.end();
    this.#reason ??= this.#processEnd() ?? reason;
    this.#end.resolve(this.#reason);
    // This rejects calls in progress.
    if (wasOpen) this.#client.close().catch(() => {});
  }

  #callFailure(error: unknown): CallFailure {
    const failure = new CallFailure(failureKind(error), this.#describe(error));
    if (isSessionGone(error)) this.#over('does not know the session any more');
    else if (!isAnswer(error)) this.#checkSoon();
    return failure;
  }

  /** What went wrong, as the end of a sentence that begins with the name of the server. */
  #describe(error: unknown): string {
    if (isClosed(error)) return this.#reason ?? CONNECTION_LOST;
    return this.#processEnd() ?? this.#shorten(describeError(error));
  }

  #processEnd(): string | undefined {
    const end = this.#transport instanceof StdioTransport ? this.#transport.end : undefined;
    if (end === undefined) return undefined;
    const { complaint } = this.#childLog;
    return this.#shorten(complaint === undefined ? end : `${end}: ${complaint}`);
  }

  #whyNotConnected(error: unknown, limit: AbortSignal): string {
    if (isProbeTimeout(error, this.#probeMs)) return `gave no answer within ${this.#probeMs / 1000} s`;
    // The SDK has its own timer for the same time, which may fire first.
    return limit.aborted || isTimeout(error) ? this.#silence() : this.#describe(error);
  }

  #silence(): string {
    const ended = this.#processEnd();
    if (ended !== undefined) return ended;
    const silence = `did not complete the handshake within ${this.#options.config.connectTimeoutSeconds} s`;
    const printed = this.#transport instanceof StdioTransport ? this.#transport.unreadable : undefined;
    if (printed === undefined) return silence;
    return this.#shorten(
      `${silence}, and prints text that is not an MCP message: ${JSON.stringify(printed)}`,
    );
  }

  #shorten(text: string): string {
    const masked = this.#options.secrets.mask(text);
    return masked.length <= REASON_CHARS ? masked : `${masked.slice(0, REASON_CHARS - 1)}…`;
  }
}
