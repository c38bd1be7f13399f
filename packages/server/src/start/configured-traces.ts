/** The configured traces. Their libraries are loaded only if they are used. */

import { version } from '../basics/version.ts';
import type { Config } from '../config/index.ts';
import type { Traces, TracesOptions } from '../telemetry/opentelemetry/traces.ts';

export async function configuredTraces(
  config: Config,
  options: Pick<TracesOptions, 'tools' | 'mask' | 'log'>,
): Promise<Traces | undefined> {
  const url = config.otlpTracesEndpoint ?? (config.otlpEndpoint && `${config.otlpEndpoint}/v1/traces`);
  if (url === undefined) return undefined;
  const { Traces } = await import('../telemetry/opentelemetry/traces.ts');
  return new Traces({
    ...options,
    url,
    headers: Object.fromEntries((config.otlpHeaders ?? []).map(({ name, value }) => [name, value])),
    serviceName: config.otelServiceName,
    version,
    agentName: config.modelName,
  });
}
