/** The calls of Modal's command router: commands in a sandbox, and their streams. */

import { setTimeout as delay } from 'node:timers/promises';
import { type Metadata, status } from '@grpc/grpc-js';
import type { FakeModal } from './fake-modal.ts';
import { CallError } from './faults.ts';
import type { Output } from './output.ts';
import type { FakeSandbox } from './sandbox.ts';
import type { Calls, Message } from './service.ts';

const MOST_BYTES = 64 * 1024;

export function commandRouter(fake: FakeModal): Calls {
  const find = ({ taskId }: Message, metadata: Metadata): FakeSandbox => {
    const [, token = ''] = String(metadata.get('authorization')[0]).split(' ');
    if (!fake.routerTokens.accepts(token)) throw new CallError(status.UNAUTHENTICATED, 'the token expired');
    const sandbox = [...fake.sandboxes.values()].find(({ parts }) => parts.taskId === taskId);
    if (!sandbox) throw new CallError(status.NOT_FOUND, `there is no task ${taskId}`);
    return sandbox;
  };
  const findExec = (request: Message, metadata: Metadata) => {
    const sandbox = find(request, metadata);
    const exec = sandbox.exec(request.execId);
    if (!exec) throw new CallError(status.NOT_FOUND, `there is no exec ${request.execId}`);
    return { sandbox, exec };
  };
  async function* read(output: Output, from: number, signal: AbortSignal): AsyncGenerator<Buffer> {
    for (let offset = from; ; ) {
      const bytes = (await output.from(offset, signal))?.subarray(0, fake.slowly ? 100 : MOST_BYTES);
      if (!bytes) return;
      if (fake.slowly) await delay(1);
      yield bytes;
      offset += bytes.length;
    }
  }

  return {
    TaskExecStart: {
      async unary(request, metadata) {
        const sandbox = find(request, metadata);
        if (sandbox.result) throw new CallError(status.NOT_FOUND, `the task ${request.taskId} has ended`);
        sandbox.startExec(request.execId, request.commandArgs);
        return {};
      },
    },
    TaskExecStdinWrite: {
      async unary(request, metadata) {
        const { sandbox, exec } = findExec(request, metadata);
        await sandbox.writeTo(exec, request.offset, request.data, request.eof);
        return {};
      },
    },
    TaskExecStdioRead: {
      async *streaming(request, metadata, signal) {
        const { exec } = findExec(request, metadata);
        const output = request.fileDescriptor === 0 ? exec.stdout : exec.stderr;
        for await (const data of read(output, request.offset, signal)) yield { data };
      },
    },
    SandboxStdioReadV2: {
      async *streaming(request, metadata, signal) {
        const sandbox = find(request, metadata);
        const output = request.fileDescriptor === 0 ? sandbox.stdout : sandbox.stderr;
        let startingOffset = request.offset;
        for await (const data of read(output, request.offset, signal)) {
          yield { data, startingOffset };
          startingOffset += data.length;
        }
      },
    },
  };
}
