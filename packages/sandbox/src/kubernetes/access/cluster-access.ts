/** Where a cluster's API server is, and how it knows who asks. */
import type { SecureContextOptions } from 'node:tls';

export interface ClusterAccess {
  /** `https://host:port`, maybe with a path. */
  readonly server: string;
  /** Where pods are, if no setting says it. */
  readonly namespace: string | undefined;
  /** In sentences: `the context dev of /home/me/.kube/config`. */
  readonly source: string;
  /**
   * Asked before every call, because tokens and certificates are renewed while a server runs. `renewed`: those of the last call
   * were refused.
   */
  credentials(options?: { renewed?: boolean }): Promise<Credentials>;
}

export interface Credentials {
  token?: string | undefined;
  tls: SecureContextOptions & { rejectUnauthorized?: boolean; servername?: string };
}
