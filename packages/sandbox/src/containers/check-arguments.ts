import { MAX_FRAME_BYTES } from './server/protocol.ts';

/** Around the arguments of a call in its line. */
const OVERHEAD_BYTES = 10_000;
const MAX_BYTES = MAX_FRAME_BYTES - OVERHEAD_BYTES;

/**
 * Why these arguments cannot travel to a container, if they cannot. They go as JSON, in which a number that is none and
 * a function would silently become something else.
 */
export function whyNotSent(args: unknown): string | undefined {
  try {
    const bytes = Buffer.byteLength(JSON.stringify(args, refuseLossy) ?? '');
    return bytes > MAX_BYTES ? `The arguments have ${bytes} bytes; ${MAX_BYTES} is the most.` : undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function refuseLossy(name: string, value: unknown): unknown {
  const lossy =
    (typeof value === 'number' && !Number.isFinite(value)) ||
    typeof value === 'function' ||
    typeof value === 'symbol';
  if (lossy) throw new Error(`The argument ${name} is ${String(value)}, which cannot be sent.`);
  return value;
}
