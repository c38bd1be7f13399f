/**
 * Access as a kubeconfig describes it: clusters, users and contexts that pair them. Several files are read as one, in which the
 * first that names a thing decides, as kubectl reads them. An unsupported setting is refused by name and never ignored: without
 * `as`, for example, calls would have the rights of another user than the file says.
 */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { SandboxError } from '../../errors.ts';
import type { ClusterAccess, Credentials } from './cluster-access.ts';
import { type ExecPlugin, execCredentials } from './exec-plugin.ts';

interface Cluster {
  server?: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
}

interface User {
  token?: string;
  tokenFile?: string;
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  exec?: ExecPlugin;
  [other: string]: unknown;
}

interface Context {
  cluster?: string;
  user?: string;
  namespace?: string;
}

interface Kubeconfig {
  'current-context'?: string;
  clusters?: { name: string; cluster?: Cluster }[] | null;
  users?: { name: string; user?: User }[] | null;
  contexts?: { name: string; context?: Context }[] | null;
}

/** A value and the kubeconfig file it came from. Paths in the value are relative to that file. */
interface Found<T> {
  value: T;
  path: string;
}

const UNSUPPORTED_USER = [
  'auth-provider',
  'username',
  'password',
  'as',
  'as-uid',
  'as-groups',
  'as-user-extra',
];

/** `context` is the current one by default. */
export async function kubeconfigAccess(paths: readonly string[], context?: string): Promise<ClusterAccess> {
  const files = await readAll(paths);
  const name = context ?? files.find(({ value }) => value['current-context'])?.value['current-context'];
  if (!name) throw refusal(paths, 'names no current context; set TALARIA_KUBERNETES_CONTEXT');
  const chosen = find(files, ({ contexts }) => contexts?.find((each) => each.name === name)?.context);
  if (!chosen) throw refusal(paths, `has no context ${name}; it has ${names(files, 'contexts')}`);
  const { cluster: clusterName, user: userName, namespace } = chosen.value;
  const cluster = find(files, ({ clusters }) => clusters?.find((each) => each.name === clusterName)?.cluster);
  if (!cluster?.value.server)
    throw refusal(
      paths,
      `has no server of the cluster ${clusterName ?? '""'}, which the context ${name} names`,
    );
  const user = find(files, ({ users }) => users?.find((each) => each.name === userName)?.user);
  if (!user && userName) throw refusal(paths, `has no user ${userName}, which the context ${name} names`);
  requireSupported(paths, cluster.value, user?.value);
  return {
    server: cluster.value.server,
    namespace,
    source: `the context ${name} of ${chosen.path}`,
    credentials: async ({ renewed = false } = {}) => {
      const { token, tls } = await userCredentials(user, renewed);
      return { token, tls: { ...(await clusterTls(cluster)), ...tls } };
    },
  };
}

/** A missing file counts as empty, as long as another one exists. */
async function readAll(paths: readonly string[]): Promise<Found<Kubeconfig>[]> {
  // Loaded only when it is needed: a server in a pod reads no kubeconfig.
  const { parse } = await import('yaml');
  const found: Found<Kubeconfig>[] = [];
  for (const path of paths) {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw refusal([path], `cannot be read (${error.code})`);
    });
    if (text !== undefined) found.push({ path, value: parseFile(parse, path, text) });
  }
  if (found.length === 0) throw refusal(paths, 'is not there; name one in KUBECONFIG');
  return found;
}

/** The parser's own message would quote lines, which may be secrets. */
function parseFile(parse: (text: string) => unknown, path: string, text: string): Kubeconfig {
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    throw refusal([path], 'is neither YAML nor JSON');
  }
  if (!isKubeconfig(value)) throw refusal([path], 'is not a kubeconfig');
  return value;
}

/** Checks only that the lists hold objects. An entry is checked when it is used. */
function isKubeconfig(value: unknown): value is Kubeconfig {
  if (!isObject(value)) return false;
  return ['clusters', 'users', 'contexts'].every((key) => {
    const list = value[key] ?? [];
    return Array.isArray(list) && list.every(isObject);
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function find<T>(
  files: readonly Found<Kubeconfig>[],
  pick: (file: Kubeconfig) => T | undefined,
): Found<T> | undefined {
  for (const { value: file, path } of files) {
    const value = pick(file);
    if (value !== undefined) return { value, path };
  }
  return undefined;
}

function names(files: readonly Found<Kubeconfig>[], key: 'contexts'): string {
  const all = files.flatMap(({ value }) => value[key] ?? []).map(({ name }) => name);
  return all.join(', ') || 'none';
}

function requireSupported(paths: readonly string[], cluster: Cluster, user: User = {}): void {
  if (cluster['proxy-url']) throw refusal(paths, 'has a proxy-url, which is not supported');
  const unsupported = UNSUPPORTED_USER.find((key) => user[key] !== undefined);
  if (unsupported)
    throw refusal(
      paths,
      `has ${unsupported} for its user, which is not supported; use a token, a client certificate or an exec plugin`,
    );
}

async function clusterTls({ value, path }: Found<Cluster>): Promise<Credentials['tls']> {
  const ca = await dataOrFile(value['certificate-authority-data'], value['certificate-authority'], path);
  const servername = value['tls-server-name'];
  return {
    ...(ca ? { ca } : {}),
    ...(servername ? { servername } : {}),
    ...(value['insecure-skip-tls-verify'] ? { rejectUnauthorized: false } : {}),
  };
}

/** Takes a token in the kubeconfig first, then a token file, then a plugin. */
async function userCredentials(user: Found<User> | undefined, renewed: boolean): Promise<Credentials> {
  if (!user) return { tls: {} };
  const { value, path } = user;
  const cert = await dataOrFile(value['client-certificate-data'], value['client-certificate'], path);
  const key = await dataOrFile(value['client-key-data'], value['client-key'], path);
  const tls = { ...(cert ? { cert } : {}), ...(key ? { key } : {}) };
  const { token, tokenFile, exec } = value;
  if (token) return { token, tls };
  if (tokenFile) return { token: (await readBeside(path, tokenFile)).toString('utf8').trim(), tls };
  if (!exec) return { tls };
  const made = await execCredentials(exec, dirname(path), { renewed });
  return { token: made.token, tls: { ...tls, ...made.tls } };
}

async function dataOrFile(
  data: string | undefined,
  file: string | undefined,
  path: string,
): Promise<Buffer | undefined> {
  if (data) return Buffer.from(data, 'base64');
  return file ? await readBeside(path, file) : undefined;
}

function readBeside(path: string, file: string): Promise<Buffer> {
  return readFile(resolve(dirname(path), file)).catch((error: NodeJS.ErrnoException) => {
    throw refusal([path], `names ${file}, which cannot be read (${error.code})`);
  });
}

function refusal(paths: readonly string[], problem: string): SandboxError {
  return new SandboxError('backend_down', `The kubeconfig ${paths.join(':')} ${problem}.`);
}
