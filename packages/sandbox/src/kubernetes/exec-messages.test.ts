import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { ExecStream } from '../containers/relay/exec-stream.ts';
import { kubernetesExec } from './exec-messages.ts';

/** A program in a pod: `kubelet` is the other end of the WebSocket, one message per write. */
function exec(protocol = 'v5.channel.k8s.io') {
  const [ours, kubelet] = duplexPair({ readableObjectMode: true, writableObjectMode: true });
  return { stream: new ExecStream(ours, kubernetesExec(protocol)), kubelet };
}

const on = (channel: number, said: string | object) =>
  Buffer.concat([Buffer.of(channel), Buffer.from(typeof said === 'string' ? said : JSON.stringify(said))]);

async function sent(protocol: string): Promise<Buffer[]> {
  const { stream, kubelet } = exec(protocol);
  const received: Buffer[] = [];
  kubelet.on('data', (message: Buffer) => received.push(message));
  await new Promise<void>((resolve) => stream.end('input', resolve));
  return received;
}

test('input has a channel, and its end is a message of the fifth version of the protocol alone', async () => {
  expect(await sent('v5.channel.k8s.io')).toEqual([on(0, 'input'), Buffer.of(255, 0)]);
  expect(await sent('v4.channel.k8s.io')).toEqual([on(0, 'input')]);
});

test('output arrives until the program has ended', async () => {
  const { stream, kubelet } = exec();
  for (const channel of [1, 2, 3]) kubelet.write(Buffer.of(channel));
  kubelet.write(on(1, 'one '));
  kubelet.write(on(1, 'two'));
  kubelet.write(on(3, { status: 'Success', metadata: {} }));
  expect(await text(stream)).toBe('one two');
});

test('a program that fails is an error with what Kubernetes and the program said', async () => {
  const { stream, kubelet } = exec();
  const failed = text(stream);
  kubelet.write(on(2, 'no such socket'));
  const message = 'command terminated with non-zero exit code';
  kubelet.write(on(3, { status: 'Failure', reason: 'NonZeroExitCode', message }));
  await expect(failed).rejects.toThrow(`the relay failed, because ${message}: no such socket`);
});

test('a status that is not JSON is reported unchanged', async () => {
  const { stream, kubelet } = exec();
  const failed = text(stream);
  kubelet.write(on(3, 'container not found'));
  await expect(failed).rejects.toThrow('the relay ended, and Kubernetes said: container not found');
});
