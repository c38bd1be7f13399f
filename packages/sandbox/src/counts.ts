/** Counts that a caller gives: whole numbers from 0. */
import { SandboxError } from './errors.ts';

export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

export function requireCount(name: string, value: number): void {
  if (isCount(value)) return;
  throw new SandboxError('invalid_request', `'${name}' must be a whole number, 0 or more.`);
}
