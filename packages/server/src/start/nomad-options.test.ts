import { expect, test } from 'vitest';
import { configSecrets } from '../config/index.ts';
import { load } from '../config/testing/load.ts';
import { nomadOptions } from './nomad-options.ts';

test('Nomad is found by the variables of its own clients, and its token is a secret', () => {
  const env = {
    ...{ TALARIA_BACKEND: 'nomad', TALARIA_NOMAD_IMAGE: 'sandbox:1', NOMAD_ADDR: 'https://nomad:4646' },
    ...{ NOMAD_TOKEN: 's3cret-token', NOMAD_NAMESPACE: 'agents', NOMAD_SKIP_VERIFY: 'true' },
    ...{ NOMAD_HTTP_AUTH: 'ada:pass', NOMAD_CAPATH: '/etc/authorities' },
    ...{
      TALARIA_NOMAD_DATACENTERS: 'one, two',
      TALARIA_NOMAD_CONSTRAINTS: 'node.class = sandbox; attr.x > 1',
    },
  };
  const { config } = load({ env });
  expect(nomadOptions(config)).toMatchObject({
    nomad: {
      address: 'https://nomad:4646',
      token: 's3cret-token',
      namespace: 'agents',
      skipVerify: true,
      httpAuth: 'ada:pass',
      caPath: '/etc/authorities',
    },
    job: {
      driver: 'docker',
      image: 'sandbox:1',
      datacenters: ['one', 'two'],
      constraints: ['node.class = sandbox', 'attr.x > 1'],
    },
  });
  expect(configSecrets(config)).toEqual(expect.arrayContaining(['s3cret-token', 'ada:pass']));
});
