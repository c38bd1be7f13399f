/**
 * Credentials from a program that a kubeconfig names, as the clusters of cloud providers want them: it prints an
 * `ExecCredential` with a token or a certificate, which is used until it expires.
 */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { SandboxError } from '../../errors.ts';
import type { Credentials } from './cluster-access.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 30_000;
/** Renewed so long before it expires, so that no call comes too late. */
const EARLY_MS = 60_000;

export interface ExecPlugin {
  apiVersion?: string;
  command?: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  provideClusterInfo?: boolean;
}

interface Status {
  token?: string;
  clientCertificateData?: string;
  clientKeyData?: string;
  expirationTimestamp?: string;
}

interface Kept {
  credentials: Promise<Credentials>;
  /** 0 while it is not known. */
  untilMs: number;
}

const kept = new WeakMap<ExecPlugin, Kept>();

/** A command with a slash is a path from `dir`. Callers that are refused at the same time share one run of the program. */
export function execCredentials(
  plugin: ExecPlugin,
  dir: string,
  { renewed = false }: { renewed?: boolean } = {},
): Promise<Credentials> {
  const known = kept.get(plugin);
  if (known?.untilMs === 0) return known.credentials;
  if (known && !renewed && Date.now() < known.untilMs - EARLY_MS) return known.credentials;
  const entry: Kept = { credentials: Promise.resolve({ tls: {} }), untilMs: 0 };
  entry.credentials = runPlugin(plugin, dir).then(
    ({ token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp }) => {
      entry.untilMs = expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
      return { token, tls: { ...(cert ? { cert } : {}), ...(key ? { key } : {}) } };
    },
    (error) => {
      kept.delete(plugin);
      throw error;
    },
  );
  kept.set(plugin, entry);
  return entry.credentials;
}

async function runPlugin(plugin: ExecPlugin, dir: string): Promise<Status> {
  const { apiVersion = 'client.authentication.k8s.io/v1', command = '', args, env } = plugin;
  const fail = (problem: string) =>
    new SandboxError('backend_down', `The exec plugin ${command} of the kubeconfig ${problem}.`);
  if (plugin.provideClusterInfo) throw fail('wants provideClusterInfo, which is not supported');
  const program = command.includes('/') ? resolve(dir, command) : command;
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
  let printed: string;
  try {
    const options = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
    const environment = { ...process.env, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    ({ stdout: printed } = await run(program, args ?? [], { ...options, env: environment }));
  } catch (error) {
    // The output may hold a secret; the exit code and the signal do not.
    const { code, signal } = error as { code?: string | number; signal?: string };
    throw fail(`failed (${code ?? signal ?? 'unknown'})`);
  }
  try {
    const { status } = JSON.parse(printed) as { status?: Status };
    if (status?.token || status?.clientCertificateData) return status;
  } catch {
    // The error below says it.
  }
  throw fail('printed no ExecCredential with a token or a certificate');
}
