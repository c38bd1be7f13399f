/**
 * The facts as Prometheus metrics (docs/observability.md lists them all).
 *
 * - Counters and histograms grow with the facts; gauges are read on request, from memory or, for webhooks, from the
 *   store.
 * - Every label has a bounded set of values: words of ours, names from the configuration, patterns of routes.
 */
import { RUN_FAILURES } from '@talaria/protocol';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ApprovalOutcome, Fact } from '../facts.ts';
import type { ToolNames } from '../tool-names.ts';
import { addProcessMetrics } from './process-metrics.ts';

/** The shortest is a poll, the longest a request that waits for its answer. */
const REQUEST_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** The shortest is a sync of a fast disk, the longest one of a disk in trouble. */
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];
const COMMIT_RECORDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];
/** Waits for a model, a queue or a command: from no time to some minutes. */
const WAIT_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
/** Runs and people may take hours. */
const LONG_SECONDS = [0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

/** Any other method is not worth a series of its own. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const APPROVAL_OUTCOMES: readonly ApprovalOutcome[] = [
  'once',
  'session',
  'always',
  'deny',
  'timeout',
  'aborted',
];

export interface Gauges {
  load(): Promise<{
    queued: number;
    maxQueued: number;
    active: number;
    maxActive: number;
    waiting: number;
    waitingForApproval: number;
    subscribers: number;
    webhooks: { pending: number; failed: number };
  }>;
  /** Only in a process that works on runs. */
  sandbox?(): { slots: Readonly<Record<string, number>>; containers?: Readonly<Record<string, number>> };
  mcpServers?(): readonly { name: string; status: string }[];
}

export interface MetricsOptions {
  version: string;
  role: string;
  tools: ToolNames;
  gauges: Gauges;
}

export class Metrics {
  readonly registry = new Registry();
  readonly #tools: ToolNames;
  readonly #readGauges: () => Promise<void>;
  readonly #readProcess: () => void;
  readonly #submitted = this.#counter(
    'talaria_runs_submitted_total',
    'Runs that clients and jobs asked for',
    ['outcome'],
  );
  readonly #finished = this.#counter('talaria_runs_finished_total', 'Runs that have ended', [
    'status',
    'error_code',
  ]);
  readonly #resumed = this.#counter(
    'talaria_run_resumes_total',
    'Times a run was resumed after a restart or a handover',
  );
  readonly #queueTime = this.#histogram(
    'talaria_run_queue_seconds',
    'Time from the creation of a run until a worker took it',
    [],
    WAIT_SECONDS,
  );
  readonly #firstEvent = this.#histogram(
    'talaria_run_first_event_seconds',
    'Time from the creation of a run to its first event',
    [],
    WAIT_SECONDS,
  );
  readonly #runTime = this.#histogram(
    'talaria_run_duration_seconds',
    'Time from the first worker of a run to its end, including waits for approvals',
    ['status'],
    LONG_SECONDS,
  );
  readonly #steps = this.#histogram(
    'talaria_model_step_seconds',
    'Time of one call to the model',
    ['model', 'outcome'],
    WAIT_SECONDS,
  );
  readonly #tokens = this.#counter('talaria_model_tokens_total', 'Tokens, as the provider counts them', [
    'model',
    'type',
  ]);
  readonly #toolCalls = this.#counter('talaria_tool_calls_total', 'Finished tool calls', ['tool', 'outcome']);
  readonly #toolTime = this.#histogram(
    'talaria_tool_call_seconds',
    'Time a tool call ran, without the wait for an approval',
    ['tool', 'outcome'],
    WAIT_SECONDS,
  );
  readonly #approvals = this.#histogram(
    'talaria_approval_wait_seconds',
    'Time from a question to its answer',
    ['outcome'],
    LONG_SECONDS,
  );
  readonly #jobs = this.#counter('talaria_jobs_due_total', 'Times a job was due and looked at', ['outcome']);
  readonly #webhooks = this.#histogram(
    'talaria_webhook_attempt_seconds',
    'Time of one attempt to deliver a message to a webhook',
    ['outcome'],
    REQUEST_SECONDS,
  );
  readonly #commits = this.#histogram(
    'talaria_journal_commit_seconds',
    'Time of one transaction of the journal, until it is on the disk',
    ['outcome'],
    COMMIT_SECONDS,
  );
  readonly #commitRecords = this.#histogram(
    'talaria_journal_commit_records',
    'Records that one transaction of the journal wrote, if it wrote any',
    [],
    COMMIT_RECORDS,
  );
  readonly #snapshots = this.#histogram(
    'talaria_workspace_snapshot_seconds',
    'Time a run waited while a checkpoint of its files was stored, or restored',
    ['outcome'],
    WAIT_SECONDS,
  );
  readonly #snapshotBytes = this.#counter(
    'talaria_workspace_snapshot_bytes_total',
    'Bytes of checkpoints of workspaces, stored and restored',
    ['outcome'],
  );
  readonly #requests = this.#counter('talaria_http_requests_total', 'HTTP requests that were answered', [
    'method',
    'route',
    'status',
  ]);
  readonly #requestTime = this.#histogram(
    'talaria_http_request_seconds',
    'Time until the answer to an HTTP request begins, without event streams',
    ['method', 'route'],
    REQUEST_SECONDS,
  );

  constructor({ version, role, tools, gauges }: MetricsOptions) {
    this.#tools = tools;
    this.#beginAtZero();
    const what = this.#gauge('talaria_build_info', 'Always 1; its labels say what runs here', [
      'version',
      'node',
      'role',
    ]);
    what.set({ version, node: process.versions.node, role }, 1);
    this.#readGauges = this.#gauges(gauges);
    this.#readProcess = addProcessMetrics(this.registry);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** The exposition format, as a scrape gets it. */
  async render(): Promise<string> {
    await this.#readGauges();
    this.#readProcess();
    return this.registry.metrics();
  }

  readonly report = (fact: Fact): void => {
    switch (fact.fact) {
      case 'run.submitted':
        this.#submitted.inc({ outcome: fact.outcome });
        break;
      case 'run.claimed':
        if (fact.first) this.#queueTime.observe(seconds(fact.run.createdAt, fact.at));
        else this.#resumed.inc();
        break;
      case 'run.first_event':
        this.#firstEvent.observe(seconds(fact.run.createdAt, fact.at));
        break;
      case 'run.finished': {
        const { status, errorCode, startedAt, at } = fact;
        this.#finished.inc({ status, error_code: errorCode ?? '' });
        if (startedAt !== null) this.#runTime.observe({ status }, seconds(startedAt, at));
        break;
      }
      case 'model.step': {
        const { model, outcome, usage } = fact;
        this.#steps.observe({ model, outcome }, seconds(fact.startedAt, fact.endedAt));
        this.#tokens.inc({ model, type: 'input' }, usage.input_tokens);
        this.#tokens.inc({ model, type: 'output' }, usage.output_tokens);
        break;
      }
      case 'tool.call': {
        const labels = { tool: this.#tools.label(fact.tool), outcome: fact.outcome };
        this.#toolCalls.inc(labels);
        if (fact.span !== null) {
          this.#toolTime.observe(labels, seconds(fact.span.startedAt, fact.span.endedAt));
        }
        break;
      }
      case 'approval.wait':
        this.#approvals.observe({ outcome: fact.outcome }, seconds(fact.startedAt, fact.endedAt));
        break;
      case 'job.due':
        this.#jobs.inc({ outcome: fact.outcome });
        break;
      case 'webhook.attempt':
        this.#webhooks.observe({ outcome: fact.outcome }, seconds(fact.startedAt, fact.endedAt));
        break;
      case 'journal.commit':
        this.#commits.observe({ outcome: fact.failed ? 'failed' : 'ok' }, fact.durationMs / 1000);
        // Leases are renewed and the queue is polled without a record.
        if (fact.records > 0) this.#commitRecords.observe(fact.records);
        break;
      case 'workspace.checkpoint':
        this.#snapshots.observe({ outcome: fact.outcome }, fact.durationMs / 1000);
        if (fact.bytes > 0) this.#snapshotBytes.inc({ outcome: fact.outcome }, fact.bytes);
        break;
      case 'http.request': {
        const method = METHODS.has(fact.method) ? fact.method : 'other';
        const route = fact.route ?? 'none';
        this.#requests.inc({ method, route, status: fact.status });
        if (fact.durationMs !== undefined) {
          this.#requestTime.observe({ method, route }, fact.durationMs / 1000);
        }
        break;
      }
    }
  };

  /**
   * A rate needs a first value, or the first event is missed; and "never" has to look different from "not measured".
   */
  #beginAtZero(): void {
    for (const outcome of ['created', 'replayed', 'conflict', 'queue_full'])
      this.#submitted.inc({ outcome }, 0);
    for (const status of ['completed', 'cancelled']) this.#finished.inc({ status, error_code: '' }, 0);
    for (const code of Object.keys(RUN_FAILURES))
      this.#finished.inc({ status: 'failed', error_code: code }, 0);
    for (const outcome of APPROVAL_OUTCOMES) this.#approvals.zero({ outcome });
    for (const outcome of ['started', 'skipped', 'postponed']) this.#jobs.inc({ outcome }, 0);
    for (const outcome of ['delivered', 'postponed', 'failed', 'returned']) this.#webhooks.zero({ outcome });
    for (const outcome of ['ok', 'failed']) this.#commits.zero({ outcome });
  }

  #gauges({ load, sandbox, mcpServers }: Gauges): () => Promise<void> {
    const runs = this.#gauge(
      'talaria_runs',
      'Unfinished runs: all that are queued, all that wait and those of them that wait for an approval, and those that this process works on',
      ['state'],
    );
    const limits = this.#gauge('talaria_runs_limit', 'How many runs may work, and how many may wait', [
      'state',
    ]);
    const subscribers = this.#gauge('talaria_subscribers', 'Open event streams');
    const messages = this.#gauge(
      'talaria_webhook_messages',
      'Messages to webhooks: still to be delivered, and given up in the last week',
      ['state'],
    );
    const slots = this.#gauge('talaria_sandbox_slots', 'Slots of the sandbox', ['state']);
    const containers = this.#gauge('talaria_sandbox_containers', 'Containers of the sandbox', ['phase']);
    const up = this.#gauge('talaria_mcp_server_up', 'Whether the MCP server is connected', ['server']);
    return async () => {
      const now = await load();
      runs.set({ state: 'queued' }, now.queued);
      runs.set({ state: 'running' }, now.active);
      runs.set({ state: 'waiting' }, now.waiting);
      runs.set({ state: 'waiting_for_approval' }, now.waitingForApproval);
      limits.set({ state: 'queued' }, now.maxQueued);
      limits.set({ state: 'active' }, now.maxActive);
      subscribers.set(now.subscribers);
      messages.set({ state: 'pending' }, now.webhooks.pending);
      messages.set({ state: 'failed' }, now.webhooks.failed);
      const stats = sandbox?.();
      for (const [state, count] of Object.entries(stats?.slots ?? {})) slots.set({ state }, count);
      for (const [phase, count] of Object.entries(stats?.containers ?? {})) containers.set({ phase }, count);
      for (const { name, status } of mcpServers?.() ?? []) {
        if (status !== 'disabled') up.set({ server: name }, status === 'ready' ? 1 : 0);
      }
    };
  }

  #counter<L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #histogram<L extends string>(name: string, help: string, labelNames: L[], buckets: number[]): Histogram<L> {
    return new Histogram({ name, help, labelNames, buckets, registers: [this.registry] });
  }

  #gauge<L extends string>(name: string, help: string, labelNames: L[] = []): Gauge<L> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }
}

/** Clocks may be set back. */
function seconds(fromMs: number, toMs: number): number {
  return Math.max(0, toMs - fromMs) / 1000;
}
