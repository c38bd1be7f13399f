/**
 * Random ids, and a way to say which ones the next span gets: the tracer's own interface has none. A span is started in
 * one go, so "next" can be no other.
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
