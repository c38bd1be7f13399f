/** The calls of Modal's control plane: apps, images, and sandboxes from their making to their end. */

import { setTimeout as delay } from 'node:timers/promises';
import { type Metadata, status } from '@grpc/grpc-js';
import type { FakeModal } from './fake-modal.ts';
import { CallError } from './faults.ts';
import { type FakeSandbox, STATUS } from './sandbox.ts';
import type { Calls, Message, Unary } from './service.ts';

interface Tag {
  tagName: string;
  tagValue: string;
}

export function controlPlane(fake: FakeModal): Calls {
  const find = ({ sandboxId }: Message): FakeSandbox => {
    const sandbox = fake.sandboxes.get(sandboxId);
    if (!sandbox) throw new CallError(status.NOT_FOUND, `there is no sandbox ${sandboxId}`);
    return sandbox;
  };
  /** As the real one does: a call that is repeated with its key is carried out once. */
  const once = (work: Unary): Unary => {
    const answers = new Map<string, Promise<object>>();
    return (request, metadata) => {
      const key = String(metadata.get('x-idempotency-key')[0]);
      const answer = answers.get(key) ?? work(request, metadata);
      answers.set(key, answer);
      return answer;
    };
  };
  const authorised = (work: Unary): { unary: Unary } => ({
    unary(request, metadata) {
      checkCredentials(fake, metadata);
      const token = String(metadata.get('x-modal-auth-token')[0]);
      if (!fake.authTokens.accepts(token)) throw new CallError(status.UNAUTHENTICATED, 'the token expired');
      return work(request, metadata);
    },
  });

  return {
    AuthTokenGet: {
      async unary(_, metadata) {
        checkCredentials(fake, metadata);
        return { token: fake.authTokens.issue() };
      },
    },
    AppGetOrCreate: authorised(async ({ appName }) => ({ appId: `ap-${appName}` })),
    EnvironmentGetOrCreate: authorised(async () => ({
      environmentId: 'en-main',
      metadata: { name: 'main', settings: { imageBuilderVersion: '2025.06' } },
    })),
    ImageGetOrCreate: authorised(async ({ image }) => {
      const base = image.baseImages[0]?.imageId as string | undefined;
      const { id, failure } = await fake.images.build(image.dockerfileCommands, base);
      const result = failure === undefined ? STATUS.success : STATUS.failure;
      return { imageId: id, result: { status: result, exception: failure ?? '' } };
    }),
    SandboxCreateV2: authorised(
      once(async ({ appId, definition, tags }) => {
        for (const other of fake.running())
          if (definition.name !== '' && other.parts.definition.name === definition.name)
            throw new CallError(status.ALREADY_EXISTS, `there is a sandbox ${definition.name}`);
        const sandbox = await fake.createSandbox(appId, definition, toRecord(tags));
        const { id, taskId } = sandbox.parts;
        return { sandboxId: id, taskId, commandRouterAccess: fake.routerAccess() };
      }),
    ),
    SandboxGetCommandRouterAccess: authorised(async () => fake.routerAccess()),
    SandboxGetTaskIdV2: authorised(async (request) => ({ taskId: find(request).parts.taskId })),
    SandboxGetFromNameV2: authorised(async ({ sandboxName, appName }) => {
      const found = fake
        .running()
        .find(({ parts }) => parts.definition.name === sandboxName && parts.appId === `ap-${appName}`);
      if (!found) throw new CallError(status.NOT_FOUND, `there is no sandbox ${sandboxName}`);
      return { sandboxId: found.parts.id };
    }),
    SandboxListV2: authorised(async ({ appId, beforeTimestamp, tags }) => {
      const wanted = Object.entries(toRecord(tags));
      const found = fake
        .running()
        .filter(({ parts }) => parts.appId === appId)
        .filter(({ parts }) => beforeTimestamp === 0 || parts.createdAt < beforeTimestamp)
        .filter(({ parts }) => wanted.every(([name, value]) => parts.tags[name] === value))
        .sort((one, other) => other.parts.createdAt - one.parts.createdAt)
        .slice(0, fake.pageSize);
      return { sandboxes: found.map(({ parts }) => ({ id: parts.id, createdAt: parts.createdAt })) };
    }),
    SandboxTagsGetV2: authorised(async (request) => {
      const tags = Object.entries(find(request).parts.tags);
      return { tags: tags.map(([tagName, tagValue]) => ({ tagName, tagValue })) };
    }),
    SandboxTerminateV2: authorised(async (request) => {
      find(request).end(STATUS.terminated);
      return {};
    }),
    SandboxWaitV2: authorised(async (request) => {
      const { ended } = find(request);
      const result = await Promise.race([ended, delay(request.timeout * 1000, undefined, { ref: false })]);
      return result ? { result } : {};
    }),
  };
}

function checkCredentials({ tokenId, tokenSecret }: FakeModal, metadata: Metadata): void {
  const given = ['x-modal-token-id', 'x-modal-token-secret'].map((name) => metadata.get(name)[0]);
  if (given[0] !== tokenId || given[1] !== tokenSecret)
    throw new CallError(status.UNAUTHENTICATED, 'Token missing or invalid');
}

function toRecord(tags: readonly Tag[]): Record<string, string> {
  return Object.fromEntries(tags.map(({ tagName, tagValue }) => [tagName, tagValue]));
}
