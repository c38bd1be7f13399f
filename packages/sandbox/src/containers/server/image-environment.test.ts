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

test('an image that says nothing', () => {
  expect(imageEnvironment({})).toEqual({});
});
