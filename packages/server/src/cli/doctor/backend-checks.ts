/** What each backend needs on this machine, before it is tried. Unused backends are reported, too. */

import type { Config } from '../../config/index.ts';
import { BACKEND_NAMES, type BackendName } from '../../config/settings/backends.ts';
import type { Check } from './check.ts';
import { checkDocker, findUnusedDocker } from './checks/docker.ts';
import { checkKubernetes } from './checks/kubernetes.ts';
import { checkModal } from './checks/modal.ts';
import { checkNomad } from './checks/nomad.ts';

interface BackendCheck extends Required<Omit<Check, 'name'>> {
  /** Whether it could be used, where another backend is. */
  findUnused?(config: Config): Promise<string>;
}

/** Undefined for a backend that only needs to be tried. */
const CHECKS: Readonly<Record<BackendName, BackendCheck | undefined>> = {
  local: undefined,
  docker: { starts: false, check: checkDocker, findUnused: findUnusedDocker },
  kubernetes: { starts: true, check: checkKubernetes },
  modal: { starts: false, check: checkModal },
  nomad: { starts: false, check: checkNomad },
};

export const BACKEND_CHECKS: readonly Check[] = BACKEND_NAMES.flatMap((name) => {
  const own = CHECKS[name];
  return own === undefined ? [] : [{ name, starts: own.starts, check: ifUsed(name, own) }];
});

function ifUsed(name: BackendName, { check, findUnused }: BackendCheck): Check['check'] {
  return async (config, context) => {
    if (config.backend === name) return check(config, context);
    const unused = `not used: TALARIA_BACKEND is ${config.backend}`;
    const found = await findUnused?.(config);
    return { status: 'ok', detail: found === undefined ? unused : `${unused}; ${found}` };
  };
}
