/**
 * The facts as OpenTelemetry spans, sent by OTLP. Loaded only if an endpoint is configured.
 *
 * A run is one trace (run-trace.ts): a span for all of it, and below it one for its time in the queue and one for each
 * step of the model, tool call and wait for an approval. Spans are created when they are over, from the times of the
 * facts: no crash can leave a span open, and a killed server loses only what was in progress.
 *
 * Names and attributes follow OpenTelemetry's conventions for generative AI, if they have one. They contain no prompts,
 * commands or outputs.
 */
import {
  type Attributes,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Usage } from '@talaria/protocol';
import type { Log } from '../../basics/log.ts';
import type { Fact, ObservedRun, Span } from '../facts.ts';
import type { ToolNames } from '../tool-names.ts';
import { CalmExporter } from './calm-exporter.ts';
import { FixedIds } from './fixed-ids.ts';
import { traceOf } from './run-trace.ts';

/** How much of the ended spans is lost when the server is killed. */
const SEND_EVERY_MS = 1_000;
/** How many spans wait for a receiver that is down; more are dropped. Some hundred bytes each. */
const WAITING_MAX = 4_096;
const SEND_TIMEOUT_MS = 5_000;
/** How long the end of the server waits to send the last spans. */
const CLOSE_MS = 3_000;

/** The names in the conventions, if they differ from ours. */
const PROVIDERS: Readonly<Record<string, string>> = { google: 'gcp.gemini' };

export interface TracesOptions {
  /** Where spans are posted to. */
  url: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  version: string;
  /** The name clients know the agent by. */
  agentName: string;
  tools: ToolNames;
  mask(text: string): string;
  log: Log;
}

interface SpanFields extends Span {
  kind?: SpanKind;
  attributes?: Attributes;
  /** The failure as one word. */
  error?: string | undefined;
}

export class Traces {
  readonly #options: TracesOptions;
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #ids = new FixedIds();

  constructor(options: TracesOptions) {
    const { url, headers, serviceName, version, log, mask } = options;
    this.#options = options;
    const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: SEND_TIMEOUT_MS });
    this.#provider = new TracerProvider({
      idGenerator: this.#ids,
      // OTEL_RESOURCE_ATTRIBUTES describes the environment; our own name and version take precedence.
      resource: detectResources({ detectors: [envDetector] }).merge(
        resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
      ),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new CalmExporter(exporter, { url, log, mask }),
          scheduledDelayMillis: SEND_EVERY_MS,
          maxQueueSize: WAITING_MAX,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('talaria', version);
  }

  readonly report = (fact: Fact): void => {
    switch (fact.fact) {
      case 'run.claimed':
        if (fact.first) {
          this.#child(fact.run, 'queue', { startedAt: fact.run.createdAt, endedAt: fact.at });
        } else {
          this.#child(fact.run, 'resume', { startedAt: fact.at, endedAt: fact.at });
        }
        break;
      case 'model.step':
        this.#step(fact);
        break;
      case 'tool.call': {
        if (fact.span === null) break;
        const name = this.#options.tools.name(fact.tool);
        this.#child(fact.run, `execute_tool ${name}`, {
          ...fact.span,
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': name,
            'gen_ai.tool.type': 'function',
            'talaria.tool.outcome': fact.outcome,
          },
          error: fact.outcome === 'ok' ? undefined : fact.outcome,
        });
        break;
      }
      case 'approval.wait': {
        const { startedAt, endedAt, outcome } = fact;
        const attributes = { 'talaria.approval.outcome': outcome };
        this.#child(fact.run, 'approval', { startedAt, endedAt, attributes });
        break;
      }
      case 'run.finished':
        this.#root(fact);
        break;
      default:
    }
  };

  /** Sends the rest, for a moment; what the receiver does not accept then is lost. */
  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([this.#provider.shutdown().catch(() => {}), limit]);
    clearTimeout(timer);
  }

  #step(fact: Extract<Fact, { fact: 'model.step' }>): void {
    const { run, model, outcome, usage, finishReason, startedAt, endedAt } = fact;
    const { provider, name } = modelNames(model);
    this.#child(run, `chat ${name}`, {
      startedAt,
      endedAt,
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': provider,
        'gen_ai.request.model': name,
        ...(finishReason === undefined ? {} : { 'gen_ai.response.finish_reasons': [finishReason] }),
        ...usageAttributes(usage),
      },
      error: outcome === 'completed' ? undefined : outcome,
    });
  }

  #root({ run, at, status, errorCode, usage }: Extract<Fact, { fact: 'run.finished' }>): void {
    const { root, parent } = traceOf(run);
    this.#ids.next = root;
    this.#end(
      `invoke_agent ${this.#options.agentName}`,
      {
        startedAt: run.createdAt,
        endedAt: at,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': this.#options.agentName,
          'talaria.run.id': run.runId,
          'talaria.run.status': status,
          ...usageAttributes(usage),
        },
        error: errorCode ?? undefined,
      },
      parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
    );
    this.#ids.next = undefined;
  }

  #child(run: ObservedRun, name: string, fields: SpanFields): void {
    this.#end(name, fields, trace.setSpanContext(ROOT_CONTEXT, traceOf(run).root));
  }

  #end(name: string, fields: SpanFields, context: typeof ROOT_CONTEXT): void {
    const { startedAt, endedAt, kind = SpanKind.INTERNAL, attributes = {}, error } = fields;
    const span = this.#tracer.startSpan(name, { startTime: startedAt, kind, attributes }, context);
    if (error !== undefined) {
      span.setAttribute('error.type', error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(endedAt);
  }
}

function modelNames(model: string): { provider: string; name: string } {
  const slash = model.indexOf('/');
  const provider = slash === -1 ? model : model.slice(0, slash);
  return { provider: PROVIDERS[provider] ?? provider, name: model.slice(slash + 1) };
}

function usageAttributes({ input_tokens, output_tokens }: Usage): Attributes {
  if (input_tokens === 0 && output_tokens === 0) return {};
  return { 'gen_ai.usage.input_tokens': input_tokens, 'gen_ai.usage.output_tokens': output_tokens };
}
