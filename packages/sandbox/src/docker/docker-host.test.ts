import { expect, test } from 'vitest';
import { parseDockerHost } from './docker-host.ts';

test.each([
  ['unix:///var/run/docker.sock', { socketPath: '/var/run/docker.sock' }],
  ['tcp://127.0.0.1:2375', { host: '127.0.0.1', port: 2375 }],
  ['tcp://localhost', { host: 'localhost', port: 2375 }],
  ['tcp://[::1]:99', { host: '::1', port: 99 }],
])('%s', (host, endpoint) => {
  expect(parseDockerHost(host)).toEqual(endpoint);
});

test.each([
  '',
  'unix://',
  'unix://relative.sock',
  '/var/run/docker.sock',
  'ssh://a@b',
  'tcp://',
  'tcp://host:1/path',
])('%j is refused, with the allowed forms', (host) => {
  expect(() => parseDockerHost(host)).toThrow(/unix:\/\/\/path\/to\/docker.sock or tcp:\/\/host:port/);
});
