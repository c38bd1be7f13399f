/** TLS to an agent, set by the variables of Nomad's own clients, and what to change if it fails. */
import { readdir, readFile, stat } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { join } from 'node:path';
import {
  type ConnectionOptions,
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls';
import { SandboxError } from '../errors.ts';

export interface NomadTlsOptions {
  /** Files in PEM: NOMAD_CACERT, NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY. */
  caCert?: string | undefined;
  /** NOMAD_CAPATH: a directory of such files; without effect beside a `caCert`. */
  caPath?: string | undefined;
  clientCert?: string | undefined;
  clientKey?: string | undefined;
  /** NOMAD_TLS_SERVER_NAME: the name in the certificate of the agent, if that is not its host's. */
  tlsServerName?: string | undefined;
  /** NOMAD_SKIP_VERIFY: the certificate is not checked. */
  skipVerify?: boolean | undefined;
}

export async function readTls(
  options: NomadTlsOptions,
): Promise<RequestOptions & Pick<ConnectionOptions, 'secureContext'>> {
  const { tlsServerName, skipVerify } = options;
  const [ca, cert, key] = await Promise.all([
    readAuthorities(options),
    readPem('NOMAD_CLIENT_CERT', options.clientCert),
    readPem('NOMAD_CLIENT_KEY', options.clientKey),
  ]);
  return {
    secureContext: createContext({ ca, cert, key }),
    ...(tlsServerName ? { servername: tlsServerName } : {}),
    rejectUnauthorized: !skipVerify,
  };
}

function createContext(options: SecureContextOptions): SecureContext {
  try {
    return createSecureContext(options);
  } catch (cause) {
    const reason = (cause as Error).message;
    const text = `NOMAD_CACERT, NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY cannot be used together (${reason}): name a certificate and its own key.`;
    throw new SandboxError('backend_down', text, { cause });
  }
}

async function readAuthorities({ caCert, caPath }: NomadTlsOptions): Promise<Buffer | Buffer[] | undefined> {
  if (caCert || !caPath) return readPem('NOMAD_CACERT', caCert);
  const names = await readdir(caPath).catch((cause: NodeJS.ErrnoException) => {
    const text = `NOMAD_CAPATH names ${caPath}, which is not a readable directory (${cause.code}).`;
    throw new SandboxError('backend_down', text, { cause });
  });
  const read = names.map(async (name) => {
    const path = join(caPath, name);
    return (await isDirectory(path)) ? [] : ((await readPem('NOMAD_CAPATH', path)) ?? []);
  });
  return (await Promise.all(read)).flat();
}

/** A mounted secret of Kubernetes has its files in a directory, with links to them beside that directory. */
async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

async function readPem(variable: string, path: string | undefined): Promise<Buffer | undefined> {
  if (!path) return undefined;
  const fail = (reason: string, cause?: unknown) =>
    new SandboxError('backend_down', `${variable} names ${path}, which ${reason}.`, { cause });
  const pem = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw fail(`cannot be read (${error.code})`, error);
  });
  if (!pem.includes('-----BEGIN ')) throw fail('is not a file in PEM');
  return pem;
}

/** Why TLS failed and what to change; undefined if something else failed. */
export function describeTlsFailure({ code = '', message }: NodeJS.ErrnoException): string | undefined {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `has a certificate for another name (${code}): name it in NOMAD_TLS_SERVER_NAME.`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `has a certificate that is not valid today (${code}): renew it.`;
  if (UNKNOWN_AUTHORITY.test(code))
    return `has a certificate of an authority that is not trusted here (${code}): name the file of that authority in NOMAD_CACERT.`;
  if (/^ERR_SSL_.*ALERT.*(CERTIFICATE|UNKNOWN_CA)/.test(code))
    return `wants a certificate of the client that its own authority signed (${code}): set NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY.`;
  // The other side does not speak TLS. The code is then EPROTO or one of OpenSSL's many, so the message decides.
  if (/wrong version number|packet length too long/.test(message))
    return `does not speak TLS (${code}): begin NOMAD_ADDR with http://.`;
  return undefined;
}

const UNKNOWN_AUTHORITY =
  /^(UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)|(DEPTH_ZERO_)?SELF_SIGNED_CERT|CERT_(SIGNATURE_FAILURE|UNTRUSTED))/;
