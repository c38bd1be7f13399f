/** What `/health/detailed` says about one part of the server. */
export interface Check {
  status: 'ok' | 'degraded' | 'failed';
  detail: string;
}
