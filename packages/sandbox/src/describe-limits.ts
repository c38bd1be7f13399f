/** Limits as text, for operators and for models that run into them. */
import type { LimitName, LimitStatus } from './limits.ts';

const TITLES: Record<LimitName, string> = {
  memoryBytes: 'memory',
  processes: 'processes',
  cpus: 'processor time',
  fileSizeBytes: 'file size',
  workspaceBytes: 'workspace',
};

const SCOPES: Record<LimitStatus['per'], string> = {
  slot: 'for all commands of a slot together',
  workspace: 'for each workspace with its /tmp',
  command: 'for each command',
  process: 'for each process alone',
  file: 'for each file',
  container: 'for all slots of a container together',
};

const MB = 1024 * 1024;

export function limitTitle(limit: LimitName): string {
  return TITLES[limit];
}

export function formatLimit(limit: LimitName, value: number): string {
  if (limit === 'processes') return `${value} processes`;
  if (limit === 'cpus') return value === 1 ? '1 processor' : `${value} processors`;
  if (value < MB) return `${value} bytes`;
  return `${Math.round((value / MB) * 10) / 10} MB`;
}

export function describeLimit(
  limit: LimitName,
  value: number,
  { by, per, reason }: Pick<LimitStatus, 'by' | 'per'> & { reason?: string | undefined },
): string {
  const figure = formatLimit(limit, value);
  if (by === 'nothing') return `${figure}, not enforced (${reason})`;
  return `${figure} ${SCOPES[per]}, by ${by}${reason === undefined ? '' : ` (${reason})`}`;
}
