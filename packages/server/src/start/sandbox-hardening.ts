/**
 * What stands behind the isolation of commands, in words for people. Without a filter of system calls commands reach what
 * namespaces do not separate, so that is worth a warning; that runs share a kernel's user is not, while there is a filter.
 */
import type { HardeningStatus } from '@talaria/sandbox';

/** What is missing and should not be, a sentence each. */
export function missingHardening(hardening: readonly HardeningStatus[]): string[] {
  return hardening
    .filter(({ name, holds }) => name === 'system calls' && !holds)
    .map(({ name, description }) => `${name}: ${description}`);
}

/** Each by its name, for `/health/detailed`. */
export function hardeningInDetail(hardening: readonly HardeningStatus[]): Record<string, string> {
  return Object.fromEntries(hardening.map(({ name, description }) => [name, description]));
}
