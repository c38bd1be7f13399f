/** Certificates for a Nomad agent and its clients, made with openssl. They are valid for a day. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The only name that the agent's certificate is for: not the address under which it is found. */
export const AGENT_NAME = 'server.global.nomad';

export interface Certificates {
  ca: string;
  cert: string;
  key: string;
  /** Signs nothing here. */
  otherCa: string;
}

export async function makeCertificates(dir: string): Promise<Certificates> {
  const at = (name: string) => join(dir, name);
  const openssl = (...args: string[]) => run('openssl', args);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  for (const name of ['ca', 'other-ca'])
    await openssl(
      ...['req', '-x509', ...newKey, '-days', '1', '-subj', `/CN=${name}`],
      ...['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)],
    );
  const request = ['-keyout', at('agent.key'), '-out', at('agent.csr')];
  await openssl('req', ...newKey, '-subj', `/CN=${AGENT_NAME}`, ...request);
  await writeFile(at('names'), `subjectAltName = DNS:${AGENT_NAME}, DNS:client.global.nomad\n`);
  await openssl(
    ...['x509', '-req', '-days', '1', '-in', at('agent.csr'), '-extfile', at('names')],
    ...['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-out', at('agent.pem')],
  );
  return { ca: at('ca.pem'), cert: at('agent.pem'), key: at('agent.key'), otherCa: at('other-ca.pem') };
}
