/** A receiver of webhooks with configurable behaviour, which records what it got. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WebhookMessage } from '@talaria/protocol';
import { waitFor } from './wait-for.ts';

/** A status, or something worse. */
export type Behaviour =
  | number
  | { redirect: string }
  /** Does not answer. */
  | 'hang'
  /** Answers 200 and then sends a byte now and then, forever. */
  | 'trickle'
  /** Closes the connection without an answer. */
  | 'close'
  /** Answers 200 with a body that has no end. */
  | 'flood'
  /** Answers with something that is not HTTP. */
  | 'garbage'
  /** Asks to switch to another protocol. */
  | 'upgrade';

const UPGRADE = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  message: WebhookMessage;
}

export class WebhookReceiver implements AsyncDisposable {
  behaviour: Behaviour = 204;
  /** Every request that arrived completely, whatever the answer was. */
  readonly received: Received[] = [];
  /** Bytes of an endless response that somebody read. */
  flooded = 0;
  readonly #server: Server;
  readonly #hanging: ServerResponse[] = [];

  static async start(behaviour: Behaviour = 204): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.behaviour = behaviour;
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  private constructor() {
    this.#server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      this.received.push({ headers: request.headers, body, message: parse(body) });
      this.#answer(response);
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/hook?token=of-the-query`;
  }

  /** Waits for this many requests. */
  async receives(count: number, limitMs?: number): Promise<Received[]> {
    await waitFor(`${count} messages`, () => this.received.length >= count, limitMs);
    return this.received;
  }

  /** Finally answers those that it left hanging. */
  answerHanging(status: number): void {
    for (const response of this.#hanging.splice(0)) response.writeHead(status).end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(response: ServerResponse): void {
    const how = this.behaviour;
    if (typeof how === 'number') response.writeHead(how).end();
    else if (typeof how === 'object') response.writeHead(302, { location: how.redirect }).end();
    else if (how === 'hang') this.#hanging.push(response);
    else if (how === 'close') response.destroy();
    else if (how === 'garbage') response.socket?.end('this is no HTTP\r\n\r\n');
    else if (how === 'upgrade') response.socket?.write(UPGRADE);
    else if (how === 'trickle') trickle(response);
    else this.#flood(response);
  }

  #flood(response: ServerResponse): void {
    const chunk = Buffer.alloc(65_536);
    const more = (): void => {
      if (response.destroyed) return;
      this.flooded += chunk.length;
      if (response.write(chunk)) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  }
}

function trickle(response: ServerResponse): void {
  const timer = setInterval(() => response.write('.'), 50);
  response.once('close', () => clearInterval(timer));
}

/** Tests of the transport alone send bodies that are not messages. */
function parse(body: string): WebhookMessage {
  return (body.startsWith('{') ? JSON.parse(body) : {}) as WebhookMessage;
}
