import { expect, test } from 'vitest';
import { DockerBackend } from './docker/docker-backend.ts';
import { LocalBackend } from './local/local-backend.ts';

test.each([
  { defaultTimeoutS: 0 },
  { defaultTimeoutS: Number.NaN },
  { defaultTimeoutS: Infinity },
  { outputLimitBytes: -5 },
  { outputLimitBytes: 1.5 },
  { spoolLimitBytes: -1 },
])('%j is refused', (options) => {
  const [name] = Object.keys(options);
  for (const create of [
    () => new LocalBackend({ workspacesDir: '/nowhere', ...options }),
    () => new DockerBackend({ workspacesDir: '/nowhere', image: 'x', ...options }),
  ])
    expect(create).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(name as string) }),
    );
});
