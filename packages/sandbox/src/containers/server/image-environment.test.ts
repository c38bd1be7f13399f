import { expect, test } from 'vitest';
import { SYSTEM_PATH } from '../../host/system-path.ts';
import { imageEnvironment } from './image-environment.ts';

test("commands get the image's variables, without this process's own", () => {
  const env = {
    GOPATH: '/go',
    PATH: '/usr/local/go/bin:/bin',
    HOME: '/root',
    HOSTNAME: 'x',
    NODE_OPTIONS: '',
  };
  expect(imageEnvironment(env)).toEqual({ GOPATH: '/go', PATH: `/usr/local/go/bin:/bin:${SYSTEM_PATH}` });
});

test('commands do not get the variables with which a cluster describes a container', () => {
  const env = { NOMAD_TOKEN: 'x', KUBERNETES_PORT: 'x', MODAL_TASK_ID: 'x', MODALITY: 'kept' };
  expect(imageEnvironment(env)).toEqual({ MODALITY: 'kept' });
});

test('an image without variables gives commands none', () => {
  expect(imageEnvironment({})).toEqual({});
});
