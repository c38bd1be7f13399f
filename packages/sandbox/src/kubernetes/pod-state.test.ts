import { expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from './kubernetes-types.ts';
import { endOf, hasEnded, isRunning, stillWaiting } from './pod-state.ts';

function pod(status: PodStatus, state?: ContainerStatus['state'], deleted = false): Pod {
  return {
    metadata: { name: 'talaria-1', uid: '1', ...(deleted ? { deletionTimestamp: 'now' } : {}) },
    status: { ...status, ...(state ? { containerStatuses: [{ state }] } : {}) },
  };
}

const refused = (given: Pod | undefined): unknown => {
  try {
    return isRunning(given);
  } catch (error) {
    return error;
  }
};

test('a pod runs when its container does, and until then it is waited for', () => {
  expect(isRunning(pod({}))).toBeUndefined();
  expect(isRunning(pod({ phase: 'Pending' }, { waiting: { reason: 'ContainerCreating' } }))).toBeUndefined();
  expect(isRunning(pod({ phase: 'Running' }, { running: {} }))).toBe(true);
});

test('a permanent failure is recognised at once', () => {
  const conditions = [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/1 nodes are available: 1 Insufficient memory.',
    },
  ];
  expect(refused(pod({ phase: 'Pending', conditions }))).toMatchObject({
    code: 'slot_unavailable',
    message: expect.stringContaining('1 Insufficient memory. Add nodes'),
  });
  expect(refused(pod({}, { waiting: { reason: 'ErrImagePull', message: 'not found' } }))).toMatchObject({
    code: 'container_failed',
    message: expect.stringMatching(/ErrImagePull.*not found.*TALARIA_KUBERNETES_IMAGE/),
  });
  expect(
    refused(pod({}, { waiting: { reason: 'CreateContainerError', message: 'no /bin/sh' } })),
  ).toMatchObject({
    code: 'container_failed',
    message: 'its pod cannot start (CreateContainerError): no /bin/sh.',
  });
  expect(refused(pod({ phase: 'Failed', reason: 'OutOfcpu', message: 'Node has no cpu' }))).toMatchObject({
    code: 'slot_unavailable',
  });
  expect(refused(pod({ phase: 'Failed', reason: 'Evicted', message: 'disk pressure' }))).toMatchObject({
    code: 'container_failed',
    message: 'its pod never ran: Evicted: disk pressure',
  });
  expect(refused(pod({ phase: 'Pending' }, undefined, true))).toMatchObject({ code: 'container_failed' });
  expect(refused(undefined)).toMatchObject({ code: 'container_failed' });
});

test('a pod has ended when it is gone, or its phase or its container says so', () => {
  expect(hasEnded(undefined)).toBe(true);
  expect(hasEnded(pod({ phase: 'Failed' }))).toBe(true);
  expect(hasEnded(pod({ phase: 'Running' }, { terminated: { exitCode: 1 } }))).toBe(true);
  expect(hasEnded(pod({ phase: 'Running' }, { running: {} }))).toBeUndefined();
});

test('only the end of the server counts as out of memory, not that of a command before', () => {
  const oom = (exitCode: number) => endOf(pod({}, { terminated: { exitCode, reason: 'OOMKilled' } }));
  expect(oom(137)).toMatchObject({ outOfMemory: true });
  expect(oom(99)).toMatchObject({ outOfMemory: true });
  expect(oom(1)).toMatchObject({ outOfMemory: false });
  expect(endOf(pod({}, { terminated: { exitCode: 137, reason: 'Error' } }))).toMatchObject({
    outOfMemory: false,
  });
});

test('the end says what Kubernetes did, and what the server printed', () => {
  const terminated = { exitCode: 137, message: 'The sandbox program is too old\n' };
  const evicted = pod(
    { phase: 'Failed', reason: 'Evicted', message: 'The node was low on disk' },
    { terminated },
  );
  expect(endOf(evicted)?.printed).toBe('Evicted: The node was low on disk\nThe sandbox program is too old');
  expect(endOf(pod({ phase: 'Pending' }))).toBeUndefined();
});

test('the error for a pod that does not run in time says what the pod waits for', () => {
  const creating = pod({ phase: 'Pending' }, { waiting: { reason: 'ContainerCreating' } });
  expect(stillWaiting(creating, 300)).toMatchObject({
    code: 'container_failed',
    message: expect.stringContaining('not run within 300 s; it is Pending (ContainerCreating)'),
  });
  const conditions = [{ type: 'Ready', status: 'False', message: 'the node is not ready' }];
  expect(stillWaiting(pod({ conditions }), 300).message).toContain('it is Pending (the node is not ready)');
  expect(stillWaiting(undefined, 300).message).toContain('it is Pending.');
});
