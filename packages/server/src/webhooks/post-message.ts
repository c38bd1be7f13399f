/**
 * One attempt to deliver a message. It ends within its timeout whatever the receiver does, reads next to nothing of the
 * response, follows no redirect, and never rejects. A failure is a sentence that may be shown: it contains only the
 * public part of the URL, and no address of this network.
 */
import { type ClientRequest, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type BlockList, connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { createLookup } from './resolve-name.ts';

/** How much of a response body is read, for a receiver that would take a closed connection for a failure of its own. */
const READ_BYTES_MAX = 65_536;

/**
 * For each address except the last, if a name has several. A receiver on the other side of the world must not fail
 * because its name has a second address that cannot be reached from here, as is often the case with IPv6.
 */
const CONNECT_MS = 4_000;

const SWITCHING_PROTOCOLS = 101;
/** The receiver wants no more messages (410 Gone). */
const GONE = 410;

export interface PostOptions {
  url: string;
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  /** Addresses that must not be connected to. */
  blocked: BlockList | undefined;
  /** Ends the attempt: whether the receiver has got the message is then unknown. */
  signal: AbortSignal;
  lookup?: LookupFunction;
}

export type Posted =
  | { kind: 'taken' }
  /** A retry may succeed. */
  | { kind: 'failed'; error: string }
  /** No retry will succeed. */
  | { kind: 'refused'; error: string };

export async function postMessage(options: PostOptions): Promise<Posted> {
  const { url, headers, body, timeoutMs, signal } = options;
  const target = new URL(url);
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  const timeout = AbortSignal.timeout(timeoutMs);
  const request = send(target, {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    createConnection: () => open(target, options),
    signal: AbortSignal.any([signal, timeout]),
  });
  try {
    return toOutcome(await statusOf(request, body));
  } catch (error) {
    if (timeout.aborted) return { kind: 'failed', error: `no answer within ${timeoutMs / 1000} s` };
    return explain(error as NodeJS.ErrnoException);
  } finally {
    request.destroy();
  }
}

/**
 * Each attempt has its own connection, without an agent: the list applies when a connection is made, not when one is
 * reused, and a proxy would connect for us to forbidden addresses.
 */
function open(target: URL, { blocked, lookup = createLookup() }: PostOptions): Socket {
  const secure = target.protocol === 'https:';
  const host = target.hostname.replace(/^\[|\]$/g, '');
  const socket = connect({
    host,
    port: Number(target.port) || (secure ? 443 : 80),
    lookup,
    autoSelectFamilyAttemptTimeout: CONNECT_MS,
    ...(blocked && { blockList: blocked }),
  });
  if (!secure) return socket;
  // `tls.connect` would not pass the list on.
  return connectTls({ socket, host, ...(isIP(host) === 0 && { servername: host }) });
}

/**
 * The status of the response, when its body has ended or was cut off; what happens after the status does not matter.
 */
function statusOf(request: ClientRequest, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let status: number | undefined;
    const end = (error?: Error) => (status === undefined ? reject(error) : resolve(status));
    request.on('error', end);
    // Whatever else may happen, the wait ends with the connection.
    request.once('close', () => end(new Error('the connection is closed')));
    // Without a listener a switch of protocols would be neither a response nor an error, and no timeout would end it.
    request.once('upgrade', (_response, socket) => {
      socket.destroy();
      resolve(SWITCHING_PROTOCOLS);
    });
    request.once('response', (response) => {
      status = response.statusCode ?? 0;
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > READ_BYTES_MAX) end();
      });
      response.once('error', end);
      response.once('close', end);
    });
    request.end(body);
  });
}

function toOutcome(status: number): Posted {
  if (status >= 200 && status < 300) return { kind: 'taken' };
  if (status === GONE)
    return { kind: 'refused', error: `the receiver answered ${status}: it wants no more messages` };
  const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  return { kind: 'failed', error: `the receiver answered ${status}${redirect}` };
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the receiver refused the connection',
  ECONNRESET: 'the receiver closed the connection',
  EPIPE: 'the receiver closed the connection',
  ENOTFOUND: "the receiver's name has no address",
  ENODATA: "the receiver's name has no address",
  EAI_AGAIN: "the receiver's name could not be resolved",
  ESERVFAIL: "the receiver's name could not be resolved",
  ETIMEOUT: "the receiver's name could not be resolved in time",
  ETIMEDOUT: 'the receiver could not be reached in time',
  EHOSTUNREACH: 'the receiver cannot be reached',
  ENETUNREACH: 'the receiver cannot be reached',
};

function explain(error: NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] }): Posted {
  // One error for each address, if a name has several.
  const codes = (error.errors ?? [error]).map(({ code }) => code ?? '');
  if (codes.every((code) => code === 'ERR_IP_BLOCKED')) {
    return { kind: 'refused', error: PRIVATE_ADDRESS };
  }
  const code = codes.find((each) => each !== 'ERR_IP_BLOCKED') ?? '';
  if (code in REASONS) return { kind: 'failed', error: REASONS[code]! };
  // Node's own names of failures (CERT_HAS_EXPIRED, HPE_INVALID_CONSTANT) say more than any summary.
  return { kind: 'failed', error: `the message could not be sent${code === '' ? '' : ` (${code})`}` };
}

/** Not which one: that would reveal what the names of this network stand for. */
const PRIVATE_ADDRESS = 'the receiver has an address that is not public';
