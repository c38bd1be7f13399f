import { expect, test } from 'vitest';
import { SYSTEM_PATH } from '../../host/system-path.ts';
import { imageEnvironment } from './image-environment.ts';

test("the image's variables, without this process's own", () => {
  const env = {
    GOPATH: '/go',
    PATH: '/usr/local/go/bin:/bin',
    HOME: '/root',
    HOSTNAME: 'x',
    NODE_OPTIONS: '',
  };
  expect(imageEnvironment(env)).toEqual({ GOPATH: '/go', PATH: `/usr/local/go/bin:/bin:${SYSTEM_PATH}` });
});

test('what a cluster tells its containers about themselves is not for commands', () => {
  const env = { NOMAD_TOKEN: 'x', KUBERNETES_PORT: 'x', MODAL_TASK_ID: 'x', MODALITY: 'kept' };
  expect(imageEnvironment(env)).toEqual({ MODALITY: 'kept' });
});

test('an image that says nothing', () => {
  expect(imageEnvironment({})).toEqual({});
});
