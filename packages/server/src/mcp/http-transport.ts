/**
 * The SDK's transport for Streamable HTTP, with four additions:
 *
 * - A response whose stream breaks off is an error of its request, at once. The SDK lets the request wait for its
 *   timeout.
 * - The stream of a cancelled request is closed, also in the older protocol, where a server that ignores the
 *   cancellation could otherwise keep it open forever.
 * - A response may not grow without limit (`limited-body.ts`).
 * - A result without a type is complete (`complete-results.ts`).
 */
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type RequestId,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { HttpConfig } from '../config/index.ts';
import { patientFetch } from '../network/patient-fetch.ts';
import { completeResult } from './complete-results.ts';
import { limitBody } from './limited-body.ts';

/** One response; the same as for servers that are child processes. */
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const TERMINATE_MS = 1_000;

type InnerOptions = NonNullable<Parameters<StreamableHTTPClientTransport['send']>[1]>;

/** The error of a request whose response has broken off. In the range that JSON-RPC leaves to implementations. */
export const ANSWER_BROKEN_OFF = -32_090;

export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly hasPerRequestStream = true;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #pending = new Map<RequestId, AbortController>();

  constructor({ url, headers }: HttpConfig) {
    this.#inner = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: async (input, init) => limitBody(await patientFetch(input, init), MAX_MESSAGE_BYTES),
    });
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onmessage = (message) => {
      if (isJSONRPCResponse(message) && message.id !== undefined) this.#pending.delete(message.id);
      this.onmessage?.(completeResult(message));
    };
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (isJSONRPCRequest(message) && options.onRequestStreamEnd === undefined) {
      return this.#request(message.id, message, options);
    }
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      this.#pending.get((message.params as { requestId: RequestId }).requestId)?.abort();
    }
    await this.#inner.send(message, options as InnerOptions);
  }

  async close(): Promise<void> {
    const limit = new Promise<void>((resolve) => setTimeout(resolve, TERMINATE_MS).unref());
    await Promise.race([this.#inner.terminateSession().catch(() => {}), limit]);
    await this.#inner.close();
  }

  async #request(id: RequestId, message: JSONRPCMessage, options: TransportSendOptions): Promise<void> {
    const cancelled = new AbortController();
    this.#pending.set(id, cancelled);
    const { requestSignal } = options;
    try {
      await this.#inner.send(message, {
        ...(options as InnerOptions),
        requestSignal: requestSignal ? AbortSignal.any([requestSignal, cancelled.signal]) : cancelled.signal,
        onRequestStreamEnd: () => {
          if (!this.#pending.delete(id)) return;
          const error = { code: ANSWER_BROKEN_OFF, message: 'The answer broke off' };
          this.onmessage?.({ jsonrpc: '2.0', id, error });
        },
      });
    } catch (error) {
      this.#pending.delete(id);
      throw error;
    }
  }
}
