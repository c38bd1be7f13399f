/**
 * Many subscribers of one stream, each with its own socket. They do not parse frames: they only look for a marker at
 * the end of the received data, so that a crowd of a thousand costs less than serving it.
 */
import { connect, type Socket } from 'node:net';

const OPENED = ': open\n\n';
/** More than the bytes from the marker to the end of its frame; a read may cut the marker. */
const TAIL_BYTES = 256;
/** Fewer than the backlog of a listening socket. */
const CONNECT_AT_ONCE = 100;
/** All sockets read into one buffer, which is examined before the next read: no garbage per read. */
const READ_BUFFER = Buffer.allocUnsafe(256 * 1024);

export class Crowd implements Disposable {
  readonly #members: Member[] = [];

  static async connect(port: number, path: string, size: number): Promise<Crowd> {
    const crowd = new Crowd();
    for (let left = size; left > 0; left -= CONNECT_AT_ONCE) {
      const members = Array.from({ length: Math.min(left, CONNECT_AT_ONCE) }, () => new Member(port, path));
      crowd.#members.push(...members);
      await Promise.all(members.map((member) => member.until(OPENED)));
    }
    return crowd;
  }

  /** Resolves when every subscriber has received the marker as part of its last frame. */
  async until(marker: string): Promise<void> {
    await Promise.all(this.#members.map((member) => member.until(marker)));
  }

  [Symbol.dispose](): void {
    for (const member of this.#members) member.close();
  }
}

class Member {
  readonly #socket: Socket;
  #tail = Buffer.alloc(0);
  #marker: string | undefined;
  #resolve = (): void => {};
  #reject = (_error: Error): void => {};
  #closing = false;

  constructor(port: number, path: string) {
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      onread: { buffer: READ_BUFFER, callback: (length) => this.#receive(READ_BUFFER.subarray(0, length)) },
    });
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n\r\n`,
    );
    this.#socket.on('error', (error) => this.#reject(error));
    this.#socket.on('close', () => {
      if (!this.#closing) this.#reject(new Error('A subscriber was disconnected'));
    });
  }

  until(marker: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#marker = marker;
      this.#resolve = resolve;
      this.#reject = reject;
      this.#check();
    });
  }

  close(): void {
    this.#closing = true;
    this.#socket.destroy();
  }

  #receive(part: Buffer): boolean {
    const kept = part.length >= TAIL_BYTES ? part : Buffer.concat([this.#tail, part]);
    this.#tail = Buffer.from(kept.subarray(-TAIL_BYTES));
    this.#check();
    return true;
  }

  #check(): void {
    if (this.#marker === undefined || !this.#tail.includes(this.#marker)) return;
    this.#marker = undefined;
    this.#resolve();
  }
}
