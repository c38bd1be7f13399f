import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inClusterAccess } from './in-cluster.ts';
import { kubeconfigAccess } from './kubeconfig.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'talaria-kubeconfig-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function write(name: string, content: string): Promise<string> {
  const path = join(dir, name);
  await writeFile(path, content);
  return path;
}

/** In the form of the files that people have. */
const config = (user: string) => `
apiVersion: v1
kind: Config
current-context: dev
clusters:
- cluster:
    certificate-authority-data: ${Buffer.from('the authority').toString('base64')}
    server: https://cluster.test:6443
  name: cluster-1
contexts:
- context: {cluster: cluster-1, namespace: agents, user: me}
  name: dev
- context:
    cluster: cluster-1
    user: me
  name: other
users:
- name: me
  user:
${user}
`;

test('a context leads to a server, a namespace and a token', async () => {
  const path = await write('config', config('    token: secret'));
  const access = await kubeconfigAccess([path]);
  expect(access).toMatchObject({ server: 'https://cluster.test:6443', namespace: 'agents' });
  expect(access.source).toBe(`the context dev of ${path}`);
  expect(await access.credentials()).toEqual({ token: 'secret', tls: { ca: Buffer.from('the authority') } });
  expect((await kubeconfigAccess([path], 'other')).namespace).toBeUndefined();
});

test('files are found beside the kubeconfig, and read again when they have changed', async () => {
  await write('token', 'first\n');
  for (const name of ['cert', 'key']) await write(name, name);
  const user = '    tokenFile: token\n    client-certificate: cert\n    client-key: ./key';
  const access = await kubeconfigAccess([await write('config', config(user))]);
  expect(await access.credentials()).toMatchObject({
    token: 'first',
    tls: { cert: Buffer.from('cert'), key: Buffer.from('key') },
  });
  await write('token', 'second\n');
  expect(await access.credentials()).toMatchObject({ token: 'second' });
});

test('the first of several files that names a thing decides, and a missing file counts as empty', async () => {
  const one = await write('one', 'current-context: other\nusers:\n- name: me\n  user: {token: first}\n');
  const two = await write('two', config('    token: second'));
  const access = await kubeconfigAccess([join(dir, 'missing'), one, two]);
  expect(access.source).toBe(`the context other of ${two}`);
  expect(await access.credentials()).toMatchObject({ token: 'first' });
});

test('a plugin is run for a token, and again when the token expires', async () => {
  const count = join(dir, 'count');
  const plugin = async (lifetimeMs: number) => {
    const expirationTimestamp = new Date(Date.now() + lifetimeMs).toISOString();
    const credential = { kind: 'ExecCredential', status: { token: 'made', expirationTimestamp } };
    await write(
      'plugin',
      `#!/bin/sh\necho "$1 $GREETING" >> ${count}\necho '${JSON.stringify(credential)}'\n`,
    );
    await chmod(join(dir, 'plugin'), 0o755);
    const user = `    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./plugin
      args: [get-token]
      env: [{name: GREETING, value: hello}]`;
    return await kubeconfigAccess([await write('config', config(user))]);
  };
  const lasting = await plugin(3_600_000);
  expect(await lasting.credentials()).toMatchObject({ token: 'made' });
  await lasting.credentials();
  expect(await readFile(count, 'utf8')).toBe('get-token hello\n');
  // An API server may take a token back before it expires. All callers that notice share one call.
  await Promise.all([lasting.credentials({ renewed: true }), lasting.credentials({ renewed: true })]);
  await lasting.credentials();
  expect((await readFile(count, 'utf8')).trim().split('\n')).toHaveLength(2);
  const brief = await plugin(1_000);
  await brief.credentials();
  await brief.credentials();
  expect((await readFile(count, 'utf8')).trim().split('\n')).toHaveLength(4);
});

test('errors are reported, unsupported settings are refused by name, and no secret is shown', async () => {
  const reject = async (content: string, context?: string) =>
    kubeconfigAccess([await write('config', content)], context).then(
      () => 'accepted',
      ({ message }: Error) => message,
    );
  expect(await reject(config('    token: x'), 'prod')).toContain('has no context prod; it has dev, other');
  expect(await reject('contexts: []')).toContain('names no current context');
  for (const nonsense of ['', 'secret', '[]', 'contexts: secret', 'users: [secret]', 'clusters: {a: secret}'])
    expect(await reject(nonsense)).toMatch(/is not a kubeconfig\.$|names no current context/);
  expect(await reject('a: b: c: secret')).toMatch(/is neither YAML nor JSON\.$/);
  expect(await reject(config('    as: somebody'))).toContain('has as for its user, which is not supported');
  expect(await reject(config('    password: secret'))).not.toContain('secret');
  const none = kubeconfigAccess([join(dir, 'missing')]);
  await expect(none).rejects.toMatchObject({
    code: 'backend_down',
    message: expect.stringContaining('is not there'),
  });
  const lost = await kubeconfigAccess([await write('config', config('    tokenFile: lost'))]);
  await expect(lost.credentials()).rejects.toThrow('names lost, which cannot be read (ENOENT)');
});

test('a pod uses its service account, and reads its token again whenever it is needed', async () => {
  for (const name of ['namespace', 'token', 'ca.crt']) await write(name, `${name}\n`);
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '6443' };
  const access = await inClusterAccess(env, dir);
  expect(access).toMatchObject({ server: 'https://10.0.0.1:6443', namespace: 'namespace' });
  await write('token', 'renewed\n');
  expect(await access?.credentials()).toEqual({ token: 'renewed', tls: { ca: 'ca.crt\n' } });
  expect(await inClusterAccess({}, dir)).toBeUndefined();
  await expect(inClusterAccess(env, join(dir, 'nowhere'))).rejects.toThrow('automountServiceAccountToken');
});
