/** What `/health/detailed` says of a part. */
export interface Check {
  status: 'ok' | 'degraded' | 'failed';
  detail: string;
}
