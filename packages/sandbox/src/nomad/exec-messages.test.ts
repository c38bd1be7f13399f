import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { ExecStream } from '../containers/relay/exec-stream.ts';
import { NOMAD_EXEC } from './exec-messages.ts';

const message = (value: object) => Buffer.from(JSON.stringify(value));
const base64 = (said: string) => Buffer.from(said).toString('base64');

/** A program in an allocation: `nomad` is the other end of the WebSocket, one message per write. */
function exec() {
  const [ours, nomad] = duplexPair({ readableObjectMode: true, writableObjectMode: true });
  return { stream: new ExecStream(ours, NOMAD_EXEC), nomad };
}

test('input arrives whole and in order, in messages of bounded size, also when there is none', async () => {
  const { stream, nomad } = exec();
  const received: { stdin: { data?: string; close?: boolean } }[] = [];
  nomad.on('data', (sent: Buffer) => received.push(JSON.parse(sent.toString())));
  const input = 'x'.repeat(150_000);
  await new Promise((resolve) => stream.write('', resolve));
  await new Promise((resolve) => stream.write(input, resolve));
  await new Promise<void>((resolve) => stream.end(resolve));
  const pieces = received.map(({ stdin }) => Buffer.from(stdin.data ?? '', 'base64').toString());
  expect(pieces.join('')).toBe(input);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
  expect(received.at(-1)).toEqual({ stdin: { close: true } });
});

test('output arrives until the program ends', async () => {
  const { stream, nomad } = exec();
  nomad.write(message({ stdout: { data: base64('one ') } }));
  nomad.write(message({ stdout: { data: base64('two') } }));
  nomad.write(message({ exited: true, result: { exit_code: 0 } }));
  expect(await text(stream)).toBe('one two');
});

test('a program that fails is an error with what it said', async () => {
  const { stream, nomad } = exec();
  const failed = text(stream);
  nomad.write(message({ stderr: { data: base64('no such socket') } }));
  nomad.write(message({ exited: true, result: { exit_code: 3 } }));
  await expect(failed).rejects.toThrow('the relay ended with 3: no such socket');
});

test('a message that is not JSON ends the stream with an error', async () => {
  const { stream, nomad } = exec();
  const failed = text(stream);
  nomad.write(Buffer.from('<html>'));
  await expect(failed).rejects.toThrow('Nomad sent a message over an exec that is not JSON');
});
