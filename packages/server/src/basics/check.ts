/** What `/health/detailed` says about a part. */
export interface Check {
  status: 'ok' | 'degraded' | 'failed';
  detail: string;
}
