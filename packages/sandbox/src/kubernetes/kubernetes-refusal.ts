/** A refusal by Kubernetes: its own words, a code for what they mean, and what to do about it. */
import { SandboxError, type SandboxErrorCode } from '../errors.ts';
import type { ApiStatus } from './kubernetes-types.ts';

export class KubernetesRefusal extends SandboxError {
  readonly status: number;

  constructor(status: number, body: string) {
    const said = messageOf(body) || `status ${status}`;
    const { code, fix } = judge(status, said);
    super(code, `Kubernetes refused: ${said.replace(/\.$/, '')}.${fix}`);
    this.status = status;
  }
}

function judge(status: number, said: string): { code: SandboxErrorCode; fix: string } {
  if (status === 401)
    return {
      code: 'backend_down',
      fix: ' The credentials are not accepted: renew them, or name others in KUBECONFIG.',
    };
  const missing = /cannot (\S+) resource "([^"]+)"/.exec(said);
  if (status === 403 && missing)
    return {
      code: 'backend_down',
      fix: ` The right to ${missing[1]} ${missing[2]} is missing: apply the role in deploy/kubernetes/sandboxes.yaml.`,
    };
  if (status === 403 && /exceeded quota/.test(said))
    return {
      code: 'slot_unavailable',
      fix: ' Raise the quota, reserve less, or lower TALARIA_MAX_CONTAINERS.',
    };
  // From an admission controller: the cluster does not allow a pod like this.
  if (status === 403 || status === 422 || status === 400) return { code: 'container_failed', fix: '' };
  return { code: 'backend_down', fix: '' };
}

function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as ApiStatus).message ?? body.trim();
  } catch {
    // Perhaps from a proxy in front of the API server.
    return body.trim().slice(0, 500);
  }
}
