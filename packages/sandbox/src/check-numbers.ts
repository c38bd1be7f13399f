/** Numbers that a caller gives, with a call or as an option. */
import { SandboxError } from './errors.ts';

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function requireCount(name: string, value: number, least = 0): void {
  if (isCount(value) && value >= least) return;
  throw new SandboxError(
    'invalid_request',
    `${name} is ${value}; it should be a whole number, ${least} or more.`,
  );
}

export function requirePositive(name: string, value: number, most = Number.MAX_VALUE): void {
  if (Number.isFinite(value) && value > 0 && value <= most) return;
  const limit = most === Number.MAX_VALUE ? '' : `, up to ${most}`;
  throw new SandboxError('invalid_request', `${name} is ${value}; it should be a number over 0${limit}.`);
}
