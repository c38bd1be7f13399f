/**
 * What `/health/detailed` says about the sandbox: what isolates and limits commands, and whether a run can get a place
 * in it.
 */
import { type BackendStats, limitTitle } from '@talaria/sandbox';
import type { Check } from '../../basics/check.ts';
import type { BackendName } from '../../config/settings/backends.ts';
import { missingHardening } from './missing-hardening.ts';

export interface SandboxCheck extends Check {
  backend: BackendName;
  /** The mechanisms of the isolation, or what is missing. */
  hardening: Record<string, string>;
  limits: Record<string, string>;
  slots: BackendStats['slots'];
  containers?: NonNullable<BackendStats['containers']>;
}

/** `backend` is the configured one. */
export function checkSandbox(backend: BackendName, stats: BackendStats): SandboxCheck {
  const { isolation, limits, slots, containers, trouble } = stats;
  const { kind, hardening = [] } = isolation;
  const isolated = kind === 'none' || missingHardening(hardening).length > 0 ? 'degraded' : 'ok';
  return {
    status: trouble === undefined ? isolated : 'failed',
    detail: trouble === undefined ? isolation.description : `No run can get a sandbox: ${trouble}`,
    backend,
    hardening: Object.fromEntries(hardening.map(({ name, description }) => [name, description])),
    limits: Object.fromEntries(limits.map(({ limit, description }) => [limitTitle(limit), description])),
    slots,
    ...(containers === undefined ? {} : { containers }),
  };
}
