/** A minimal DNS server: the given A records, "no such name" for all others, or silence. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const TYPE_A = 1;
const NO_SUCH_NAME = 3;
const QUESTION_AT = 12;

export class DnsServer implements AsyncDisposable {
  readonly #socket: Socket = createSocket('udp4');
  readonly #records: Map<string, string>;
  /** Names it was asked for. */
  readonly asked: string[] = [];

  static async start(records: Record<string, string> | 'silent'): Promise<DnsServer> {
    const server = new DnsServer(records);
    server.#socket.bind(0, '127.0.0.1');
    await once(server.#socket, 'listening');
    return server;
  }

  private constructor(records: Record<string, string> | 'silent') {
    this.#records = new Map(Object.entries(records === 'silent' ? {} : records));
    this.#socket.on('message', (query, from) => {
      const { name, type, end } = readQuestion(query);
      this.asked.push(name);
      if (records !== 'silent')
        this.#socket.send(this.#answer(query, name, type, end), from.port, from.address);
    });
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  set(name: string, address: string): void {
    this.#records.set(name, address);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  #answer(query: Buffer, name: string, type: number, end: number): Buffer {
    const address = this.#records.get(name);
    const found = address !== undefined && type === TYPE_A;
    const head = Buffer.alloc(QUESTION_AT);
    query.copy(head, 0, 0, 2);
    // An answer, recursion asked for and available.
    head.writeUInt16BE(0x8180 | (address === undefined ? NO_SUCH_NAME : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found ? 1 : 0, 6);
    const parts = [head, query.subarray(QUESTION_AT, end)];
    if (found) {
      const record = Buffer.alloc(12);
      // The name is that of the question; class IN, no time to live, four bytes.
      record.writeUInt16BE(0xc000 | QUESTION_AT, 0);
      record.writeUInt16BE(TYPE_A, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt16BE(4, 10);
      parts.push(record, Buffer.from(address.split('.').map(Number)));
    }
    return Buffer.concat(parts);
  }
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = QUESTION_AT;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}
