/** What every backend asks of the options it is made with. Limits of commands are checked where they are divided up. */
import { SandboxError } from './errors.ts';

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
