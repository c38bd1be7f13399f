/** The address of a cluster's API server, and the credentials for it. */
import type { SecureContextOptions } from 'node:tls';

export interface ClusterAccess {
  /** `https://host:port`, maybe with a path. */
  readonly server: string;
  /** The namespace of the pods, if no setting names one. */
  readonly namespace: string | undefined;
  /** In sentences: `the context dev of /home/me/.kube/config`. */
  readonly source: string;
  /**
   * Called before every request, because tokens and certificates are renewed while a server runs. `renewed`: the API server
   * refused the last ones.
   */
  credentials(options?: { renewed?: boolean }): Promise<Credentials>;
}

export interface Credentials {
  token?: string | undefined;
  tls: SecureContextOptions & { rejectUnauthorized?: boolean; servername?: string };
}
