/** A receiver of OpenTelemetry traces over HTTP, in the JSON form of its protocol: what a collector would get. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  /** By the number of the protocol: 1 internal, 3 client. */
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Record<string, unknown>;
  failed: boolean;
}

interface WireValue {
  stringValue?: string;
  intValue?: string | number;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: WireValue[] };
}

interface WireAttribute {
  key: string;
  value: WireValue;
}

interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: WireAttribute[];
  status?: { code?: number };
}

interface WireRequest {
  resourceSpans: { resource: { attributes: WireAttribute[] }; scopeSpans: { spans: WireSpan[] }[] }[];
}

export interface OtlpReceiver extends AsyncDisposable {
  /** The base: traces go to `/v1/traces` below it. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly { path: string; headers: IncomingHttpHeaders }[];
  /** Of the last request. */
  readonly resource: Record<string, unknown>;
  /** Everything that was sent, unchanged. */
  readonly text: string;
  /** The response to requests from now on. */
  answer(status: number): void;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  let resource: Record<string, unknown> = {};
  let text = '';
  let status = 200;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    requests.push({ path: request.url ?? '', headers: request.headers });
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    if (status !== 200) return;
    text += body;
    for (const part of (JSON.parse(body) as WireRequest).resourceSpans) {
      resource = toRecord(part.resource.attributes);
      for (const scope of part.scopeSpans) spans.push(...scope.spans.map(toSpan));
    }
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    get resource() {
      return resource;
    },
    get text() {
      return text;
    },
    answer(next) {
      status = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function toSpan(span: WireSpan): ReceivedSpan {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId || undefined,
    name: span.name,
    kind: span.kind,
    startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
    endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
    attributes: toRecord(span.attributes),
    failed: span.status?.code === 2,
  };
}

function toRecord(attributes: readonly WireAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));
}

function toValue(value: WireValue): unknown {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(toValue);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.doubleValue ?? value.boolValue;
}
