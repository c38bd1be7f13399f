/**
 * A WebSocket as a stream of messages: for APIs that open a program's input and output over one.
 *
 * Node's own takes a certificate only from an `Agent` of the package undici, and cannot make a sender wait: unread data stays
 * in memory. The package `ws` can do both. It also has a server and compression, and would be the only dependency of the part
 * that goes into images. These two files are all that we need of it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { Duplex } from 'node:stream';
import { encodeMessage, MessageParser, type MessageType } from './messages.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 10_000;

export interface WebSocketOptions extends RequestOptions {
  secure: boolean;
  /** The type of the messages that are sent. */
  sends: Extract<MessageType, 'text' | 'binary'>;
  /** The subprotocols that are offered, best first. If the server accepts none of them, the connection fails. */
  protocols?: readonly string[];
}

/** The server answered, but refused the WebSocket. */
export class WebSocketRefused extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text.trim() || `status ${status}`);
    this.status = status;
  }
}

/** In object mode, a `Buffer` per message. It ends when the other side says so, and with an error if it just breaks off. */
export function openWebSocket({
  secure,
  sends,
  protocols,
  ...options
}: WebSocketOptions): Promise<MessageStream> {
  const key = randomBytes(16).toString('base64');
  const headers = {
    ...options.headers,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    ...(protocols ? { 'sec-websocket-protocol': protocols.join(', ') } : {}),
  };
  const outgoing = (secure ? httpsRequest : httpRequest)({ ...options, headers, agent: false });
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (answer: IncomingMessage) => {
      firstBytes(answer).then((text) => reject(new WebSocketRefused(answer.statusCode ?? 0, text)), reject);
    });
    outgoing.once('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) => {
      const accepted = createHash('sha1')
        .update(key + GUID)
        .digest('base64');
      const protocol = answer.headers['sec-websocket-protocol'];
      const refuse = (reason: string) => {
        socket.destroy();
        reject(new Error(reason));
      };
      if (answer.headers['sec-websocket-accept'] !== accepted)
        refuse('expected a WebSocket server, got an answer without the right key');
      else if (protocols && !protocols.includes(protocol ?? ''))
        refuse(`the WebSocket server speaks ${protocol ?? 'nothing'}, and not ${protocols.join(' or ')}`);
      else resolve(new MessageStream(socket, head, { sends, protocol }));
    });
    outgoing.end();
  });
}

export class MessageStream extends Duplex {
  /** The protocol that the server chose among those it was offered. */
  readonly protocol: string | undefined;
  readonly #socket: Duplex;
  readonly #sends: WebSocketOptions['sends'];
  readonly #parser = new MessageParser(MAX_MESSAGE_BYTES);
  /** The other side has said that no more will come. What came before may not be read yet. */
  #over = false;
  #closeSent = false;

  constructor(
    socket: Duplex,
    head: Buffer,
    { sends, protocol }: Pick<WebSocketOptions, 'sends'> & { protocol: string | undefined },
  ) {
    super({ objectMode: true, readableHighWaterMark: 16 });
    this.#socket = socket;
    this.#sends = sends;
    this.protocol = protocol;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.destroy(error));
    socket.once('close', () => {
      if (!this.#over) this.destroy(new Error('the WebSocket was closed without a close message'));
    });
    // An error may come before anybody listens for it. Later listeners find it in `errored`.
    this.on('error', () => {});
    if (head.length > 0) this.#receive(head);
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(encodeMessage(this.#sends, bytes), done);
  }

  override _final(done: () => void): void {
    this.#sayClose();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #sayClose(): void {
    if (!this.#closeSent) this.#socket.write(encodeMessage('close', Buffer.alloc(0)));
    this.#closeSent = true;
  }

  /** A server that refuses after it has opened says why in its last message. */
  #closed(bytes: Buffer): void {
    const reason = bytes.subarray(2).toString('utf8');
    this.#over = true;
    this.#sayClose();
    if (reason === '') this.push(null);
    else this.destroy(new Error(`it was refused: ${reason} (${bytes.readUInt16BE()})`));
  }

  #receive(chunk: Buffer): void {
    try {
      for (const { type, bytes } of this.#parser.parse(chunk)) {
        if (this.#over) break;
        if (type === 'close') this.#closed(bytes);
        else if (type === 'ping') this.#socket.write(encodeMessage('pong', bytes));
        else if (type !== 'pong' && !this.push(bytes)) this.#socket.pause();
      }
    } catch (error) {
      this.destroy(error as Error);
    }
  }
}

async function firstBytes(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_REFUSAL_BYTES) break;
  }
  return text;
}
