/** TLS as an agent of a real cluster has it: both ends show a certificate, and the agent's is not for its address. */
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TASK } from '../job-spec.ts';
import { NomadApi, type NomadOptions } from '../nomad-api.ts';
import { AGENT_NAME, type Certificates, makeCertificates } from '../testing/certificates.ts';
import { NomadAgent } from '../testing/nomad-agent.ts';
import { startTest } from '../testing/nomad-fixture.ts';

export function describeNomadTls(plain: () => NomadAgent): void {
  describe('TLS', () => {
    let dir: string;
    let certificates: Certificates;
    let agent: NomadAgent;
    let nomad: NomadOptions;
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'talaria-nomad-tls-'));
      certificates = await makeCertificates(dir);
      agent = await NomadAgent.start({ certificates });
      const { ca: caCert, cert: clientCert, key: clientKey } = certificates;
      nomad = { address: agent.address, caCert, clientCert, clientKey, tlsServerName: AGENT_NAME };
    });
    afterAll(async () => {
      await agent?.[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    });

    /** A call over HTTP, and an exec over a WebSocket. */
    const both: [string, (api: NomadApi) => Promise<unknown>][] = [
      ['a call', (api) => api.listJobs('talaria-')],
      ['an exec', (api) => api.exec('any', TASK, ['true'], AbortSignal.timeout(60_000))],
    ];

    test('with certificates on both sides slots work, over HTTP and over the stream of an exec', async () => {
      await using tasks = await startTest(agent, { nomad });
      const slot = await tasks.backend.acquire('trajectory');
      expect((await tasks.bash(slot, 'echo over TLS')).output).toBe('over TLS\n');
      expect(tasks.troubles).toEqual([]);
    });

    test('the certificate of the authority may be in a directory of several', async () => {
      const caPath = join(dir, 'authorities');
      await mkdir(caPath);
      for (const file of [certificates.otherCa, certificates.ca])
        await cp(file, join(caPath, basename(file)));
      const { caCert: _, ...others } = nomad;
      await new NomadApi({ ...others, caPath }).listJobs('talaria-');
      await rm(join(caPath, basename(certificates.ca)));
      await expect(new NomadApi({ ...others, caPath }).listJobs('talaria-')).rejects.toThrow('NOMAD_CACERT');
      const missing = new NomadApi({ ...others, caPath: join(dir, 'none') });
      await expect(missing.listJobs('talaria-')).rejects.toThrow('NOMAD_CAPATH names');
    });

    test('NOMAD_SKIP_VERIFY accepts any certificate', async () => {
      const { caCert: _, tlsServerName: __, ...unchecked } = nomad;
      await using tasks = await startTest(agent, { nomad: { ...unchecked, skipVerify: true } });
      const slot = await tasks.backend.acquire();
      expect((await tasks.bash(slot, 'echo works')).output).toBe('works\n');
    });

    test.each(both)('%s says which setting is wrong', async (_, call) => {
      const { otherCa, cert } = certificates;
      const wrong: [Partial<NomadOptions>, string][] = [
        [{ caCert: otherCa }, 'NOMAD_CACERT'],
        [{ caCert: undefined }, 'NOMAD_CACERT'],
        [
          { caCert: join(dir, 'missing.pem') },
          `NOMAD_CACERT names ${join(dir, 'missing.pem')}, which cannot be read`,
        ],
        [{ caCert: join(dir, 'names') }, 'is not a file in PEM'],
        [{ tlsServerName: undefined }, 'NOMAD_TLS_SERVER_NAME'],
        [{ tlsServerName: 'another.name' }, 'NOMAD_TLS_SERVER_NAME'],
        [{ clientCert: undefined, clientKey: undefined }, 'NOMAD_CLIENT_CERT'],
        [{ clientKey: cert }, 'NOMAD_CLIENT_KEY'],
        [{ clientKey: join(dir, 'ca.key') }, 'NOMAD_CLIENT_KEY'],
        [{ address: plain().address.replace('http', 'https') }, 'does not speak TLS'],
        [{ address: agent.address.replace('https', 'http') }, 'HTTPS'],
      ];
      for (const [change, said] of wrong)
        await expect(call(new NomadApi({ ...nomad, ...change })), said).rejects.toMatchObject({
          code: 'backend_down',
          message: expect.stringContaining(said),
        });
    });
  });
}
