/** Any call of the API of Kubernetes: for what the backend itself never asks. */
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { readBody } from '../../http/read-body.ts';
import type { ClusterAccess } from '../access/cluster-access.ts';

export async function callApi<T>(
  access: ClusterAccess,
  method: string,
  path: string,
  body?: object,
  type = 'application/json',
): Promise<T> {
  const { token, tls } = await access.credentials();
  const headers = { authorization: `Bearer ${token}`, ...(body ? { 'content-type': type } : {}) };
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(access.server + path, { ...tls, method, headers, agent: false }, resolve);
    outgoing.on('error', reject).end(body && JSON.stringify(body));
  });
  const text = (await readBody(incoming, 64 * 1024 * 1024)).toString('utf8');
  if ((incoming.statusCode ?? 0) >= 400) throw new Error(`${method} ${path}: ${incoming.statusCode} ${text}`);
  return (incoming.headers['content-type']?.includes('json') ? JSON.parse(text) : text) as T;
}
