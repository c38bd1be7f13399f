/**
 * A subscriber of events that carry the time of their append (processes/journal-server.ts): measures how long each took
 * to arrive.
 */
import { connect, type Socket } from 'node:net';

const OPENED = ': open\n\n';
const BEAT = /at (\d+) ns/g;
const NS_PER_MS = 1e6;

export class Beats implements Disposable {
  readonly opened: Promise<void>;
  readonly #socket: Socket;
  #text = '';
  #times: number[] = [];
  #wanted: { count: number; resolve(times: number[]): void } | undefined;

  constructor(port: number, path: string) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n\r\n`,
    );
    this.opened = new Promise((resolve, reject) => {
      this.#socket.on('data', (part: unknown) => {
        this.#receive(String(part));
        if (this.#text.includes(OPENED)) resolve();
      });
      this.#socket.on('error', reject);
    });
  }

  /** The latencies in ms of the next events, this many. */
  next(count: number): Promise<number[]> {
    this.#text = '';
    this.#times = [];
    return new Promise((resolve) => {
      this.#wanted = { count, resolve };
    });
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #receive(part: string): void {
    const now = process.hrtime.bigint();
    this.#text += part;
    let end = 0;
    for (const match of this.#text.matchAll(BEAT)) {
      this.#times.push(Number(now - BigInt(match[1]!)) / NS_PER_MS);
      end = match.index + match[0].length;
    }
    this.#text = this.#text.slice(end);
    if (this.#wanted !== undefined && this.#times.length >= this.#wanted.count) {
      this.#wanted.resolve(this.#times);
      this.#wanted = undefined;
    }
  }
}
