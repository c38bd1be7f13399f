/**
 * One end of a stream that carries many connections (channel-frames.ts). Either end may open one.
 *
 * - A channel is a stream like a socket: half-closed by `end`, closed at both ends by `destroy`.
 * - What is written to several channels arrives in the order in which it was written.
 * - Each end keeps at most `WINDOW_BYTES` of a channel that nobody reads, and such a channel holds up no other. If an end
 *   sends more than the other has room for, or breaks another rule, the stream and all channels end.
 * - When the stream ends, every channel ends with an error.
 *
 * Not HTTP/2: it sends channels in an order of its own, and treats a client that drops many of them as an attacker.
 */
import { Duplex } from 'node:stream';
import { type ChannelFrame, encodeFrame, FrameParser, MAX_DATA_BYTES } from './channel-frames.ts';

export const WINDOW_BYTES = 1024 * 1024;

export class Channels {
  readonly #stream: Duplex;
  readonly #onOpen: ((channel: Duplex) => void) | undefined;
  readonly #channels = new Map<number, Channel>();
  readonly #parser = new FrameParser();
  /** Callbacks of the channels that wait until the stream takes more. */
  #waiting: (() => void)[] = [];
  #lastOpened = 0;
  #ended: Error | undefined;

  /** `onOpen` gets the channels that the other end opens; without `onOpen`, the other end may open none. */
  constructor(stream: Duplex, onOpen?: (channel: Duplex) => void) {
    this.#stream = stream;
    this.#onOpen = onOpen;
    stream.on('drain', () => this.#resumeWaiting());
    stream.on('data', (chunk: Buffer) => this.#receive(chunk));
    stream.on('error', (error) => this.#end(error));
    stream.once('end', () => this.#end(new Error('the stream to the container ended')));
    stream.once('close', () => this.#end(new Error('the stream to the container is closed')));
  }

  open(): Duplex {
    this.#lastOpened += 1;
    const channel = this.#add(this.#lastOpened);
    this.#send('open', this.#lastOpened);
    if (this.#ended) channel.destroy(this.#ended);
    return channel;
  }

  close(): void {
    this.#end(new Error('the stream to the container was closed'));
  }

  #add(id: number): Channel {
    const channel = new Channel((type, content) => this.#send(type, id, content));
    this.#channels.set(id, channel);
    channel.once('close', () => this.#channels.delete(id));
    return channel;
  }

  /** Returns a promise if the stream is full: it resolves when the stream takes more. */
  #send(type: ChannelFrame['type'], id: number, content?: Buffer | number): Promise<void> | undefined {
    if (this.#ended || this.#stream.write(encodeFrame(type, id, content))) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #resumeWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#parser.parse(chunk)) this.#take(frame);
    } catch (error) {
      this.#end(error as Error);
    }
  }

  #take(frame: ChannelFrame): void {
    const { type, channel: id } = frame;
    if (type === 'open') {
      if (!this.#onOpen) throw new Error('the other end may not open channels');
      if (this.#channels.has(id)) throw new Error('a channel was opened twice');
      this.#onOpen(this.#add(id));
    }
    // Frames for a channel that was closed here may still arrive; they are ignored.
    else this.#channels.get(id)?.receive(frame);
  }

  #end(reason: Error): void {
    if (this.#ended) return;
    this.#ended = reason;
    this.#resumeWaiting();
    for (const channel of this.#channels.values()) channel.destroy(reason);
    this.#stream.destroy();
  }
}

type Send = (type: ChannelFrame['type'], content?: Buffer | number) => Promise<void> | undefined;

class Channel extends Duplex {
  readonly #send: Send;
  /** Bytes that the other end has room for. */
  #credit = WINDOW_BYTES;
  #onCredit = (): void => {};
  /** Bytes that the other end may send. */
  #granted = WINDOW_BYTES;
  /** Bytes that arrived while the reader wanted no more. */
  #owed = 0;
  #endedThere = false;
  #closedThere = false;

  constructor(send: Send) {
    super({ highWaterMark: MAX_DATA_BYTES });
    this.#send = send;
  }

  receive({ type, count, bytes }: ChannelFrame): void {
    switch (type) {
      case 'data': {
        this.#granted -= bytes.length;
        if (this.#granted < 0) throw new Error('a channel was sent more than it has room for');
        this.#owed += bytes.length;
        if (!this.readableEnded && this.push(bytes)) this.#grant();
        return;
      }
      case 'end':
        this.#endedThere = true;
        this.push(null);
        return;
      case 'close':
        this.#closedThere = true;
        this.#onCredit();
        // The reader still gets the bytes that came before the end, as with a socket.
        if (this.#endedThere) this.end();
        else this.destroy();
        return;
      case 'credit':
        this.#credit += count;
        this.#onCredit();
    }
  }

  override _read(): void {
    this.#grant();
  }

  override async _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): Promise<void> {
    for (let rest = chunk; rest.length > 0; ) {
      while (this.#credit === 0 && !this.#over)
        await new Promise<void>((resolve) => {
          this.#onCredit = resolve;
        });
      if (this.#over) break;
      const sent = rest.subarray(0, Math.min(MAX_DATA_BYTES, this.#credit));
      this.#credit -= sent.length;
      rest = rest.subarray(sent.length);
      await this.#send('data', sent);
    }
    done();
  }

  override _final(done: (error?: Error) => void): void {
    if (!this.#closedThere) this.#send('end');
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#onCredit();
    // If both ends have ended the channel, the other end may still have data to read.
    const over = this.#closedThere || (this.#endedThere && this.writableFinished);
    if (!over) this.#send('close');
    done(error);
  }

  /** Nothing that is written arrives any more. */
  get #over(): boolean {
    return this.destroyed || this.#closedThere;
  }

  #grant(): void {
    if (this.#owed === 0) return;
    this.#granted += this.#owed;
    this.#send('credit', this.#owed);
    this.#owed = 0;
  }
}
