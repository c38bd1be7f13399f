/**
 * The mechanisms missing from the isolation that are worth a warning, one sentence each. Without a system call filter
 * commands can reach what namespaces do not separate. That runs share a kernel user needs no warning while there is a
 * filter.
 */
import type { HardeningStatus } from '@talaria/sandbox';

export function missingHardening(hardening: readonly HardeningStatus[]): string[] {
  return hardening
    .filter(({ name, holds }) => name === 'system calls' && !holds)
    .map(({ name, description }) => `${name}: ${description}`);
}
