/**
 * The header `traceparent` (W3C Trace Context): the trace and the span that a request belongs to.
 *
 * An invalid value is ignored, as the recommendation says: a broken trace is no reason to refuse work.
 */

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** In the form of version 00, whatever version it came in. */
export function parseTraceparent(header: string | undefined): string | undefined {
  const [, version, traceId, spanId, flags, more] = FORM.exec(header?.trim() ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || version === 'ff') return undefined;
  // Later versions may have more fields; this one may not.
  if (version === '00' && more !== undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return `00-${traceId}-${spanId}-${flags}`;
}
