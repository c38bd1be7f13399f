/** Logs once that spans cannot be sent, and once that they can again: a receiver that is down must not fill the log. */
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../../basics/log.ts';

type ResultCallback = Parameters<SpanExporter['export']>[1];

export interface CalmExporterOptions {
  url: string;
  mask(text: string): string;
  log: Log;
}

export class CalmExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #options: CalmExporterOptions;
  #failing = false;

  constructor(exporter: SpanExporter, options: CalmExporterOptions) {
    this.#exporter = exporter;
    this.#options = options;
  }

  export(spans: Parameters<SpanExporter['export']>[0], done: ResultCallback): void {
    this.#exporter.export(spans, (result) => {
      this.#note(result.error);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #note(error: Error | undefined): void {
    const failing = error !== undefined;
    if (failing === this.#failing) return;
    this.#failing = failing;
    const { url, log, mask } = this.#options;
    if (failing) {
      log.warn(
        { url, reason: mask(error.message) },
        'traces cannot be sent; runs continue, spans are dropped',
      );
    } else {
      log.warn({ url }, 'traces are sent again');
    }
  }
}
