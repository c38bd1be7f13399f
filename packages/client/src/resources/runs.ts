/** `/v1/runs`: create, fork, get, list, watch, stop, keep, approve, steer, answer tool calls, compare files. */
import {
  type ApprovalAnswerRequest,
  type Capabilities,
  type CreateRunRequest,
  createId,
  type ForkRunRequest,
  type FunctionToolRequest,
  isTerminalStatus,
  type Run,
  type RunApprovalResponse,
  type RunCreated,
  type RunDiff,
  type RunList,
  type RunStatus,
  type RunSteer,
  type RunStop,
  type RunToolOutputs,
} from '@talaria/protocol';
import { sleep } from '../abort.ts';
import { type FinishOptions, finishRun } from '../finish-run.ts';
import { isPage, type PageQuery, Pages } from '../pages.ts';
import type { Params } from '../params.ts';
import { RECONNECT_MS, reconnecting } from '../reconnects.ts';
import { backoffMs, isTransient } from '../retry.ts';
import { RunStream, type StreamOptions } from '../run-stream.ts';
import type { BegunCalls } from '../tools/begun-calls.ts';
import {
  type AnyClientTools,
  type ClientTools,
  type ToolDescription,
  toFunctionTools,
} from '../tools/client-tool.ts';
import type { CallOutput } from '../tools/execute-call.ts';
import { type RunWith, withParsedOutput } from '../tools/parsed-output.ts';
import { toJsonSchema } from '../tools/schema.ts';
import { type Fields, isFields, type RequestOptions, segment, type Transport } from '../transport.ts';
import { RunArtifacts } from './artifacts.ts';
import { Calls } from './calls.ts';
import { type DiffQuery, getDiff, getPatch } from './diff.ts';

export interface RunFilter extends PageQuery {
  /** One status or several. */
  status?: RunStatus | readonly RunStatus[] | undefined;
  session_id?: string | undefined;
  job_id?: string | undefined;
  /** Created at this time or later, and before `until`; in seconds since the epoch. */
  since?: number | undefined;
  until?: number | undefined;
  /** Words that must all occur in the prompt (as far as `input` shows it) or in the answer. */
  q?: string | undefined;
  /** `head`: without the answers. */
  view?: 'full' | 'head' | undefined;
}

export type RunPages = Pages<Run, RunList>;

type OtherParams = Params<Omit<CreateRunRequest, 'tools' | 'output_schema'>>;

export type CreateRunParams = OtherParams & {
  /** Functions that the client runs: in the protocol's form, or by name. */
  tools?: readonly FunctionToolRequest[] | Readonly<Record<string, ToolDescription>> | undefined;
  /** A JSON schema, or a schema of a library that implements Standard Schema. */
  output_schema?: object | undefined;
};

/** `at` is the seq of an event, by default the last one. */
export type ForkRunParams = Params<ForkRunRequest>;

export type RunParams<Schemas, Output extends object | undefined = undefined> = OtherParams & {
  /**
   * Tools by name, which run in this process; or functions in the protocol's form, whose calls somebody else answers.
   */
  tools?: ClientTools<Schemas> | readonly FunctionToolRequest[] | undefined;
  output_schema?: Output | undefined;
};

export interface RunOptions extends Omit<StreamOptions, 'after'>, FinishOptions {}

const POLL_FIRST_MS = 250;
const POLL_LAST_MS = 2_000;

export class Runs {
  readonly artifacts: RunArtifacts;
  readonly calls: Calls;
  readonly #transport: Transport;
  readonly #begun: BegunCalls;
  #honoursKeys: boolean | undefined;

  constructor(transport: Transport, begun: BegunCalls) {
    this.#transport = transport;
    this.#begun = begun;
    this.artifacts = new RunArtifacts(transport);
    this.calls = new Calls(transport);
  }

  /** Starts a run. Sends an idempotency key, so a retry never starts a second run. */
  async create(params: CreateRunParams, options: RequestOptions = {}): Promise<RunCreated> {
    return this.#start('/v1/runs', toBody(params), options);
  }

  /**
   * Starts a run that continues from an event of this one, with another message or other instructions. Sends an
   * idempotency key like `create`.
   */
  fork(runId: string, params: ForkRunParams = {}, options: RequestOptions = {}): Promise<RunCreated> {
    return this.#start(`${pathOf(runId)}/fork`, params, options);
  }

  get(runId: string, options?: RequestOptions): Promise<Run> {
    const call = { method: 'GET', path: pathOf(runId), fits: isRun, repeat: true } as const;
    return this.#transport.json<Run>(call, options);
  }

  /** The run without its answer. Also finds a run that is evicted (`evicted`), as long as lists show it. */
  head(runId: string, options?: RequestOptions): Promise<Run> {
    const query = { view: 'head' };
    const call = { method: 'GET', path: pathOf(runId), query, fits: isRun, repeat: true } as const;
    return this.#transport.json<Run>(call, options);
  }

  /** Newest first. A loop reads all pages; `await` gives one page. */
  list(filter: RunFilter = {}, options?: RequestOptions): RunPages {
    const call = { method: 'GET', path: '/v1/runs', fits: isRunPage, repeat: true } as const;
    const { status, ...others } = filter;
    const asked = { ...others, status: typeof status === 'object' ? status.join(',') : status };
    return new Pages(asked, (query) => this.#transport.json({ ...call, query }, options));
  }

  /** Asks the run to stop. Resolves when the server has accepted that; `wait` resolves when the run has ended. */
  stop(runId: string, options?: RequestOptions): Promise<RunStop> {
    const call = { method: 'POST', path: `${pathOf(runId)}/stop`, body: {}, repeat: true } as const;
    return this.#transport.json<RunStop>(call, options);
  }

  /** Keeps the run and its files until `keep(runId, false)` takes that back. Sending the same again changes nothing. */
  keep(runId: string, keep = true, options?: RequestOptions): Promise<Run> {
    const call = { method: 'PATCH', path: pathOf(runId), body: { keep }, fits: isRun, repeat: true } as const;
    return this.#transport.json<Run>(call, options);
  }

  /** Sends text to the model, before its next step. */
  steer(runId: string, text: string, options?: RequestOptions): Promise<RunSteer> {
    const path = `${pathOf(runId)}/steer`;
    return this.#transport.json<RunSteer>(
      { method: 'POST', path, body: { input: text }, repeat: false },
      options,
    );
  }

  /** Answers the pending approval. With a `request_id` it answers only that one. */
  respondApproval(
    runId: string,
    answer: ApprovalAnswerRequest,
    options?: RequestOptions,
  ): Promise<RunApprovalResponse> {
    // Without an id, a retried answer could reach the next question instead.
    const repeat = answer.request_id !== undefined;
    const path = `${pathOf(runId)}/approval`;
    return this.#transport.json<RunApprovalResponse>({ method: 'POST', path, body: answer, repeat }, options);
  }

  /** Sends the outputs of client tool calls. Sending the same output again changes nothing. */
  toolOutputs(
    runId: string,
    outputs: readonly CallOutput[],
    options?: RequestOptions,
  ): Promise<RunToolOutputs> {
    const path = `${pathOf(runId)}/tool_outputs`;
    const call = { method: 'POST', path, body: { outputs }, repeat: true } as const;
    return this.#transport.json<RunToolOutputs>(call, options);
  }

  /** Which files of the workspace changed; by default from the start of the run to its last checkpoint. */
  diff(runId: string, query: DiffQuery = {}, options?: RequestOptions): Promise<RunDiff> {
    return getDiff(this.#transport, runId, query, options);
  }

  /** The same as a unified diff, which `git apply` takes. The body streams. */
  patch(runId: string, query: DiffQuery = {}, options: RequestOptions = {}): Promise<Response> {
    return getPatch(this.#transport, runId, query, options);
  }

  /** The events of a run. Connects when it is read. */
  streamEvents(runId: string, options: StreamOptions = {}): RunStream {
    const path = `${pathOf(runId)}/events`;
    const { request, ...reconnects } = reconnecting(options);
    const { after, ...rest } = request;
    return new RunStream({
      runId,
      after,
      ...reconnects,
      signal: rest.signal,
      connect: (cursor, again) => {
        const headers = { 'last-event-id': cursor?.toString() };
        return this.#transport.open(
          { method: 'GET', path, headers, events: true, repeat: true },
          again ? { ...rest, maxRetries: 0 } : rest,
        );
      },
    });
  }

  /** Polls until the run has finished. Keeps polling while the server is unreachable for a while. */
  async wait(runId: string, options: RequestOptions = {}): Promise<Run> {
    let answeredAt = performance.now();
    for (let polls = 0; ; polls++) {
      try {
        const run = await this.get(runId, options);
        if (isTerminalStatus(run.status)) return run;
        answeredAt = performance.now();
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!isTransient(error) || performance.now() - answeredAt > RECONNECT_MS) throw error;
      }
      await sleep(backoffMs(polls, POLL_FIRST_MS, POLL_LAST_MS), options.signal);
    }
  }

  /** Creates a run, follows it to its end, runs its tools, and returns it, however it ended. */
  async run<Schemas extends Record<string, object>, Output extends object | undefined = undefined>(
    params: RunParams<Schemas, Output>,
    options: RunOptions = {},
  ): Promise<RunWith<Output>> {
    const { idempotencyKey, ...others } = options;
    const { tools, output_schema } = params;
    const { run_id } = await this.create(params as CreateRunParams, { ...others, idempotencyKey });
    const own = isByName(tools) ? { tools: tools as AnyClientTools, begun: this.#begun } : undefined;
    const run = await finishRun(this, run_id, others, own);
    return withParsedOutput(run, output_schema as Output);
  }

  #start(path: string, body: object, options: RequestOptions): Promise<RunCreated> {
    const idempotencyKey = options.idempotencyKey ?? createId('idem');
    const repeat = () => this.#keysAreHonoured(options);
    return this.#transport.json<RunCreated>(
      { method: 'POST', path, body, fits: hasId, repeat },
      { ...options, idempotencyKey },
    );
  }

  /**
   * Whether a request for a new run whose outcome is unknown may be sent again. Some servers do not know idempotency keys and would
   * start a second run. Finding out costs one request, and only after a failure.
   */
  async #keysAreHonoured({ signal, timeout, headers, maxRetries }: RequestOptions): Promise<boolean> {
    const call = { method: 'GET', path: '/v1/capabilities', repeat: true } as const;
    const options = { signal, timeout, headers, maxRetries };
    try {
      this.#honoursKeys ??= (
        await this.#transport.json<Capabilities>(call, options)
      ).features.run_idempotency;
    } catch {
      signal?.throwIfAborted();
      return false;
    }
    return this.#honoursKeys === true;
  }
}

/** The params as they are sent. */
function toBody(params: CreateRunParams): object {
  const { tools, output_schema } = params;
  return {
    ...params,
    ...(isByName(tools) ? { tools: toFunctionTools(tools as Record<string, ToolDescription>) } : {}),
    ...(isSchema(output_schema) ? { output_schema: toJsonSchema(output_schema, 'output_schema', MADE) } : {}),
  };
}

const MADE = 'Pass the JSON schema itself';

function isByName(tools: unknown): tools is object {
  return isFields(tools) && !Array.isArray(tools);
}

function isSchema(value: unknown): value is object {
  return isFields(value) || typeof value === 'function';
}

function hasId({ run_id }: Fields): boolean {
  return typeof run_id === 'string';
}

function isRun(answer: unknown): boolean {
  if (!isFields(answer)) return false;
  const { status, pending_calls: calls = [] } = answer;
  return hasId(answer) && typeof status === 'string' && Array.isArray(calls) && calls.every(isFields);
}

function isRunPage(answer: Fields): boolean {
  return isPage(answer) && answer.data.every(isRun);
}

function pathOf(runId: string): string {
  return `/v1/runs/${segment(runId)}`;
}
