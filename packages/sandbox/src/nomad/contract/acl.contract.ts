/** With ACLs on, the policy in docs/nomad.md is enough, and nothing less is. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { NomadAgent } from '../testing/nomad-agent.ts';
import { createTest, startTest } from '../testing/nomad-fixture.ts';

const DOCS = new URL('../../../../../docs/nomad.md', import.meta.url);

export function describeNomadAcl(): void {
  describe('ACLs', () => {
    test('the policy of the docs is enough; without a token nothing works, and the error says so', async () => {
      await using agent = await NomadAgent.start({ acl: true });
      const boot = await agent.call<{ SecretID: string }>('POST', '/v1/acl/bootstrap');
      const root = boot.SecretID;
      const nodes = () => agent.call<{ Status: string }[]>('GET', '/v1/nodes', undefined, root);
      await expect.poll(async () => (await nodes())[0]?.Status).toBe('ready');
      const tokenFor = async (name: string, rules: string) => {
        await agent.call('POST', `/v1/acl/policy/${name}`, { Name: name, Rules: rules }, root);
        const body = { Name: name, Type: 'client', Policies: [name] };
        return (await agent.call<{ SecretID: string }>('POST', '/v1/acl/token', body, root)).SecretID;
      };
      const rules = /```hcl\n(.*?)```/s.exec(await readFile(DOCS, 'utf8'))?.[1] ?? '';
      expect(rules).toContain('alloc-exec');
      const nomad = { address: agent.address };
      await using refused = await createTest(agent, { nomad });
      await expect(refused.backend.start()).rejects.toMatchObject({
        code: 'backend_down',
        message: expect.stringContaining('NOMAD_TOKEN'),
      });

      const token = await tokenFor('talaria', rules);
      await using allowed = await startTest(agent, { nomad: { ...nomad, token } });
      const slot = await allowed.backend.acquire('trajectory');
      expect((await allowed.bash(slot, 'echo works')).output).toBe('works\n');
      expect(allowed.troubles).toEqual([]);

      const capabilities = [...rules.matchAll(/"([a-z]+(?:-[a-z]+)+)"/g)].map(([quoted]) => quoted);
      expect(capabilities).toHaveLength(6);
      for (const missing of capabilities) {
        const others = capabilities.filter((each) => each !== missing).join(', ');
        const less = await tokenFor(
          `without-${missing.slice(1, -1)}`,
          rules.replace(/\[.*\]/, `[${others}]`),
        );
        await using weaker = await createTest(agent, { nomad: { ...nomad, token: less } });
        const error = await weaker.backend.start().then(
          () => undefined,
          (thrown: Error) => thrown,
        );
        // Without the right to read logs it works, until a container fails and nobody can say why.
        if (missing !== '"read-logs"') expect(error?.message, missing).toContain('Permission denied');
      }
    });
  });
}
