/** Stopping, leases, streams, traces, bodies and logs. */

import { headerList } from '../kinds/header-list.ts';
import { choice, integer, seconds, string } from '../kinds/kinds.ts';
import { httpUrl } from '../kinds/network-kinds.ts';
import { define } from './setting.ts';

export const operationSettings = {
  drainSeconds: define({
    env: 'TALARIA_DRAIN_SECONDS',
    key: 'drain_seconds',
    kind: seconds({ min: 0, max: 86_400 }),
    default: 30,
    group: 'Operation',
    about: 'how long a stopping server waits for its runs before it cuts them off',
  }),
  inlineGraceSeconds: define({
    env: 'TALARIA_INLINE_GRACE_SECONDS',
    key: 'inline_grace_seconds',
    kind: seconds({ min: 0, max: 86_400 }),
    default: 5,
    group: 'Operation',
    about:
      'how long a chat completion or response continues after its client has gone, before the server stops it',
  }),
  leaseSeconds: define({
    env: 'TALARIA_LEASE_SECONDS',
    key: 'lease_seconds',
    // Below a second a busy event loop would lose leases it still works under.
    kind: seconds({ min: 1, max: 3600 }),
    // With a poll every second, another server has a dead server's runs within ten seconds.
    default: 7,
    group: 'Operation',
    about: 'how long a run stays with a server that gives no sign of life',
  }),
  subscriberBufferBytes: define({
    env: 'TALARIA_SUBSCRIBER_BUFFER_BYTES',
    key: 'subscriber_buffer_bytes',
    kind: integer({ min: 4096, max: 1_073_741_824 }),
    default: 1_048_576,
    group: 'Operation',
    about: 'unread bytes after which an event stream gets no live events until its client has read them',
  }),
  otlpEndpoint: define({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    key: 'otel_exporter_otlp_endpoint',
    kind: httpUrl(),
    default: undefined,
    group: 'Operation',
    about:
      'base URL of an OpenTelemetry receiver; the server posts traces to `/v1/traces` below it (docs/observability.md)',
  }),
  otlpTracesEndpoint: define({
    env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    key: 'otel_exporter_otlp_traces_endpoint',
    kind: httpUrl(),
    default: undefined,
    group: 'Operation',
    about: 'URL to which the server posts traces instead, used as it is',
  }),
  otlpHeaders: define({
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    key: 'otel_exporter_otlp_headers',
    kind: headerList(),
    default: undefined,
    group: 'Operation',
    about:
      'headers of the requests that post traces, `name=value,name2=value2` with `%`-escapes, or an object in the file',
  }),
  otelServiceName: define({
    env: 'OTEL_SERVICE_NAME',
    key: 'otel_service_name',
    kind: string(),
    default: 'talaria',
    group: 'Operation',
    about: 'name of this server in traces',
  }),
  maxBodiesMb: define({
    env: 'TALARIA_MAX_BODIES_MB',
    key: 'max_bodies_mb',
    kind: integer({ min: 10, max: 1_000_000 }),
    default: 256,
    group: 'Operation',
    about:
      'megabytes of request bodies that the server holds at once, half of them for one key if there are several; it refuses more until there is room',
  }),
  logLevel: define({
    env: 'TALARIA_LOG_LEVEL',
    key: 'log_level',
    kind: choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    default: 'info',
    group: 'Operation',
    about: 'least severe level that the server logs',
  }),
  logFormat: define({
    env: 'TALARIA_LOG_FORMAT',
    key: 'log_format',
    kind: choice(['json']),
    default: 'json',
    group: 'Operation',
    about: 'form of the log lines',
  }),
};
