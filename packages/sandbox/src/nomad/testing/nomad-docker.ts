/** A Nomad agent beside a Docker daemon that has the image which `talaria sandbox-image` would make. */
import { expect } from 'vitest';
import { imageContext } from '../../containers/image/image-context.ts';
import { callDocker, openTestDaemon, TEST_IMAGE } from '../../docker/testing/docker-daemon.ts';
import { NomadAgent } from './nomad-agent.ts';

export const SANDBOX_IMAGE = 'talaria-test:sandbox';

export interface DockerAgent extends AsyncDisposable {
  agent: NomadAgent;
}

export async function startDockerAgent(): Promise<DockerAgent> {
  await using opened = new AsyncDisposableStack();
  const daemon = opened.use(await openTestDaemon());
  const path = `/build?t=${SANDBOX_IMAGE}`;
  const { status, text } = await callDocker(daemon.host, 'POST', path, imageContext(TEST_IMAGE));
  expect(status, text).toBe(200);
  const agent = opened.use(await NomadAgent.start({ dockerHost: daemon.host }));
  const resources = opened.move();
  return { agent, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
