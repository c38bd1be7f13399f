/** Checks the options that every backend takes. */
import { SandboxError } from './errors.ts';
import type { SandboxLimits } from './limits.ts';

export const DEFAULT_TIMEOUT_S = 180;
export const DEFAULT_OUTPUT_LIMIT_BYTES = 50_000;

export interface CallOptions {
  defaultTimeoutS?: number | undefined;
  outputLimitBytes?: number | undefined;
  spoolLimitBytes?: number | undefined;
}

export function checkCallOptions({ defaultTimeoutS, outputLimitBytes, spoolLimitBytes }: CallOptions): void {
  check(
    'defaultTimeoutS',
    defaultTimeoutS,
    'a number over 0',
    (value) => Number.isFinite(value) && value > 0,
  );
  check(
    'outputLimitBytes',
    outputLimitBytes,
    'a whole number over 0',
    (value) => isCount(value) && value > 0,
  );
  check('spoolLimitBytes', spoolLimitBytes, 'a whole number, 0 or more', isCount);
}

/** Only those that are there. */
export function checkedLimits(limits: SandboxLimits): SandboxLimits {
  const entries = Object.entries(limits).filter(([, value]) => value !== undefined);
  for (const [limit, value] of entries) {
    const isWhole = limit === 'cpus' || Number.isSafeInteger(value);
    if (isWhole && Number.isFinite(value) && value > 0) continue;
    throw new SandboxError(
      'invalid_request',
      `The limit ${limit} should be a number over 0, not ${value}; leave it out for none.`,
    );
  }
  return Object.fromEntries(entries);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function check(
  name: keyof CallOptions,
  value: number | undefined,
  expected: string,
  isRight: (value: number) => boolean,
): void {
  if (value === undefined || isRight(value)) return;
  throw new SandboxError('invalid_request', `${name} is ${value}; it should be ${expected}.`);
}
