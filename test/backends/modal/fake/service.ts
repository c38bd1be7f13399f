/** A gRPC service on loopback, made from a proto file and one function per call. */

import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  loadPackageDefinition,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceClientConstructor,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { CallError, type Faults } from './faults.ts';

const MAX_MESSAGE_BYTES = 100 * 1024 * 1024;

/** Requests and answers have the names of the proto files; what is in them is up to whoever reads them. */
// biome-ignore lint/suspicious/noExplicitAny: messages are checked by nobody but the proto files
export type Message = any;
export type Unary = (request: Message, metadata: Metadata) => Promise<object>;
export type Streaming = (request: Message, metadata: Metadata, signal: AbortSignal) => AsyncGenerator<object>;
export type Calls = Readonly<Record<string, { unary: Unary } | { streaming: Streaming }>>;

export class Service {
  readonly #definition: ServiceClientConstructor['service'];
  readonly #handlers: Record<string, (...args: Message[]) => void>;
  readonly #faults: Faults;
  /** Of the streams that are open, by the name of their call. */
  readonly #streams = new Map<ServerWritableStream<Message, Message>, string>();
  #server: Server | undefined;
  port = 0;

  constructor(protoFile: string, name: string, calls: Calls, faults: Faults) {
    const file = fileURLToPath(new URL(protoFile, import.meta.url));
    const loaded = loadPackageDefinition(loadSync(file, { longs: Number, defaults: true }));
    const found = name.split('.').reduce((at: Message, part) => at[part], loaded) as ServiceClientConstructor;
    this.#definition = found.service;
    this.#faults = faults;
    this.#handlers = Object.fromEntries(
      Object.entries(calls).map(([call, how]) => [
        call,
        'unary' in how ? this.#unary(call, how.unary) : this.#streaming(call, how.streaming),
      ]),
    );
  }

  /** Also after it was stopped, on the same port. */
  async start(): Promise<void> {
    const server = new Server({
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    });
    server.addService(this.#definition, this.#handlers);
    this.port = await new Promise<number>((resolve, reject) => {
      const address = `127.0.0.1:${this.port}`;
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    this.#server = server;
  }

  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  /** Ends the open streams of a call as a network does. */
  breakStreams(call: string): number {
    const broken = [...this.#streams].filter(([, name]) => name === call);
    for (const [stream] of broken)
      stream.emit('error', new CallError(status.UNAVAILABLE, 'broken by the test'));
    return broken.length;
  }

  #unary(name: string, work: Unary) {
    return (call: ServerUnaryCall<Message, Message>, answer: sendUnaryData<Message>): void => {
      this.#faults
        .around(name, () => work(call.request, call.metadata))
        .then(
          (value) => answer(null, value),
          (error) => answer(asCallError(error)),
        );
    };
  }

  #streaming(name: string, work: Streaming) {
    return async (call: ServerWritableStream<Message, Message>): Promise<void> => {
      const over = new AbortController();
      this.#streams.set(call, name);
      for (const event of ['cancelled', 'close'])
        call.once(event, () => {
          this.#streams.delete(call);
          over.abort();
        });
      call.on('error', () => {});
      try {
        await this.#faults.around(name, async () => {});
        for await (const message of work(call.request, call.metadata, over.signal)) {
          if (over.signal.aborted) return;
          if (!call.write(message)) await Promise.race([once(call, 'drain'), once(call, 'close')]);
        }
        call.end();
      } catch (error) {
        call.emit('error', asCallError(error as Error));
      }
    };
  }
}

function asCallError(error: Error): CallError {
  return error instanceof CallError ? error : new CallError(status.INTERNAL, error.message);
}
