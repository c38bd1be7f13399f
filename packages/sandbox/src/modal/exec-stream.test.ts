/** A command's streams as the SDK gives them: web streams, whose every write is answered. */
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { ExecStream } from './exec-stream.ts';

interface Command {
  stdin: WritableStream<Uint8Array>;
  stdout: ReadableStream<Uint8Array>;
  /** Each is one call. */
  writes: Buffer[];
  closed: boolean;
  cancelled: boolean;
  /** The answer that the next write waits for. */
  answer: Promise<void>;
  print(text: string | undefined): void;
}

function command(): Command {
  let printer: ReadableStreamDefaultController<Uint8Array>;
  const made: Command = {
    writes: [],
    closed: false,
    cancelled: false,
    answer: Promise.resolve(),
    print: (text) => (text === undefined ? printer.close() : printer.enqueue(Buffer.from(text))),
    stdin: new WritableStream<Uint8Array>({
      async write(chunk) {
        made.writes.push(Buffer.from(chunk));
        await made.answer;
      },
      close() {
        made.closed = true;
      },
    }),
    stdout: new ReadableStream<Uint8Array>({
      start(controller) {
        printer = controller;
      },
      cancel() {
        made.cancelled = true;
      },
    }),
  };
  return made;
}

test('data that is written during an unanswered write is sent together', async () => {
  const process = command();
  const { promise, resolve } = Promise.withResolvers<void>();
  process.answer = promise;
  const stream = new ExecStream(process);
  for (const text of ['one ', 'two ', 'three']) stream.write(text);
  await expect.poll(() => process.writes.length).toBe(1);
  resolve();
  stream.end();
  await once(stream, 'finish');
  expect(process.writes.map(String)).toEqual(['one ', 'two three']);
  expect(process.closed).toBe(true);
});

test('no write is larger than a megabyte', async () => {
  const process = command();
  const stream = new ExecStream(process);
  stream.end(Buffer.alloc(2.5 * 1024 * 1024, 'x'));
  await once(stream, 'finish');
  expect(process.writes.map(({ length }) => length / 1024 / 1024)).toEqual([1, 1, 0.5]);
});

test('the stream gives the output of the command and ends with it', async () => {
  const process = command();
  const stream = new ExecStream(process);
  process.print('hello ');
  process.print('there');
  process.print(undefined);
  expect(Buffer.concat(await stream.toArray()).toString()).toBe('hello there');
});

test('a write that fails is an error of the stream', async () => {
  const process = command();
  process.answer = Promise.reject(new Error('the sandbox is gone'));
  process.answer.catch(() => {});
  const stream = new ExecStream(process);
  stream.write('lost');
  const [error] = await once(stream, 'error');
  expect(error).toMatchObject({ message: 'the sandbox is gone' });
});

test("destroying the stream ends the command's input and the reading of its output", async () => {
  const process = command();
  const stream = new ExecStream(process);
  stream.destroy();
  await once(stream, 'close');
  await expect.poll(() => process.closed && process.cancelled).toBe(true);
});
