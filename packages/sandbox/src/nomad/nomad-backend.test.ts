/** Nomad's own agent, and real tasks. */
import { afterAll, beforeAll, describe } from 'vitest';
import { describeNomadAcl } from './contract/acl.contract.ts';
import { describeNomadDocker } from './contract/docker.contract.ts';
import { describeNomadFailures } from './contract/failures.contract.ts';
import { describeNomadTls } from './contract/tls.contract.ts';
import { NomadAgent, whyNoNomad } from './testing/nomad-agent.ts';

const reason = whyNoNomad();
const title = reason === undefined ? 'nomad' : `nomad (missing: ${reason})`;

describe.skipIf(reason !== undefined)(title, { tags: ['soak'] }, async () => {
  let agent: NomadAgent;
  beforeAll(async () => {
    agent = await NomadAgent.start();
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  describeNomadFailures(() => agent);
  describeNomadAcl();
  describeNomadTls(() => agent);
  await describeNomadDocker();
});
