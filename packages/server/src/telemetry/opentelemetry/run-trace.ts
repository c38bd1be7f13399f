/**
 * The trace of a run. All of it is computed from what the journal keeps of the run, so another owner of the run after a
 * restart continues its trace, and nothing has to be handed over.
 *
 * - The trace is the one its creator named, or else has the run's own id: 32 hex digits, like the id of a trace.
 * - The span of the whole run has an id computed from the run's. It is sent at the end of the run; the spans below it
 *   are sent as they end, and name it as their parent before it exists.
 */
import { createHash } from 'node:crypto';
import { type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { ObservedRun } from '../facts.ts';

export interface RunTrace {
  /** The span of the whole run. */
  root: SpanContext;
  /** The span of whoever requested the run. */
  parent: SpanContext | undefined;
}

export function traceOf({ runId, traceparent }: ObservedRun): RunTrace {
  const parent = traceparent === null ? undefined : readTraceparent(traceparent);
  const root: SpanContext = {
    traceId: parent?.traceId ?? runId.slice('run_'.length),
    spanId: createHash('sha256').update(runId).digest('hex').slice(0, 16),
    // Whoever began the trace decides whether it is recorded.
    traceFlags: parent?.traceFlags ?? TraceFlags.SAMPLED,
  };
  return { root, parent };
}

/** Checks nothing: the traceparent was checked before the journal stored it. */
function readTraceparent(traceparent: string): SpanContext {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}
