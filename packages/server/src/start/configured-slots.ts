/** The slots for clients, as configured. */
import type { ToolBackend } from '@talaria/sandbox';
import type { Log } from '../basics/log.ts';
import { type Config, ConfigError } from '../config/index.ts';
import { ClientSlots } from '../slots/client-slots.ts';

const SECOND_MS = 1000;

/** The backend is started. Nobody approves the commands of clients, so they have to be isolated from the machine. */
export function configuredSlots(config: Config, backend: ToolBackend, log: Log): ClientSlots {
  if (backend.stats().isolation.kind === 'none' && config.approvalsUnisolated === 'ask') {
    throw new ConfigError([
      'TALARIA_SLOTS lets clients run commands without approval, and no isolation works here: they would run as the user of this ' +
        'server; allowed: slots on a machine where isolation works, or TALARIA_APPROVALS_UNISOLATED=skip',
    ]);
  }
  return new ClientSlots({
    backend,
    maxSlots: config.maxSlots,
    maxSlotsPerOwner: config.maxSlotsPerKey,
    waitMs: config.slotWaitSeconds * SECOND_MS,
    idleMs: config.slotIdleSeconds * SECOND_MS,
    keepFilesMs: config.slotFilesSeconds * SECOND_MS,
    log,
  });
}
