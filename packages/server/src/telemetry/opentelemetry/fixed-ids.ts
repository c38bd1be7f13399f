/**
 * Random ids, and a way to set those of the next span: the tracer's own interface has none. A span is started
 * synchronously, so "next" is unambiguous.
 */
import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace';

export class FixedIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  next: { traceId: string; spanId: string } | undefined;

  /** Asked for first. */
  generateSpanId(): string {
    return this.next?.spanId ?? this.#random.generateSpanId();
  }

  /** Asked for only where there is no parent. */
  generateTraceId(): string {
    return this.next?.traceId ?? this.#random.generateTraceId();
  }
}
