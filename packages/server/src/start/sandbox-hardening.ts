/**
 * Describes the hardening behind the isolation of commands. Without a system call filter commands can reach what
 * namespaces do not separate, so that is worth a warning. That runs share a kernel user is not, while there is a
 * filter.
 */
import type { HardeningStatus } from '@talaria/sandbox';

/** The missing mechanisms that are worth a warning, one sentence each. */
export function missingHardening(hardening: readonly HardeningStatus[]): string[] {
  return hardening
    .filter(({ name, holds }) => name === 'system calls' && !holds)
    .map(({ name, description }) => `${name}: ${description}`);
}

/** The description of each mechanism by its name, for `/health/detailed`. */
export function hardeningInDetail(hardening: readonly HardeningStatus[]): Record<string, string> {
  return Object.fromEntries(hardening.map(({ name, description }) => [name, description]));
}
