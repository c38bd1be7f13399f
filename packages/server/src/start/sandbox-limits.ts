/**
 * The configured limits of commands. An explicit limit must be enforced, or the server does not start. A default is
 * enforced if the machine can; if it cannot, the server says so and starts anyway.
 */
import {
  formatLimit,
  type LimitName,
  type LimitStatus,
  limitTitle,
  type SandboxLimits,
} from '@talaria/sandbox';
import { type Config, ConfigError } from '../config/index.ts';
import { type SettingName, settings } from '../config/settings.ts';

const MB = 1024 * 1024;

const SETTINGS = {
  memoryBytes: { name: 'sandboxMemoryMb', unit: MB },
  processes: { name: 'sandboxProcesses', unit: 1 },
  cpus: { name: 'sandboxCpus', unit: 1 },
  fileSizeBytes: { name: 'sandboxFileSizeMb', unit: MB },
  workspaceBytes: { name: 'sandboxWorkspaceMb', unit: MB },
} as const satisfies Record<LimitName, { name: SettingName; unit: number }>;

/** For the backend: which limits must hold, and which may. */
export function configuredLimits(config: Config): { limits: SandboxLimits; preferredLimits: SandboxLimits } {
  const limits: SandboxLimits = {};
  const preferredLimits: SandboxLimits = {};
  for (const [limit, { name, unit }] of Object.entries(SETTINGS)) {
    if (config[name] === 0) continue;
    const group = config.sources[name] === 'default' ? preferredLimits : limits;
    group[limit as LimitName] = config[name] * unit;
  }
  return { limits, preferredLimits };
}

export function unenforceable(limits: readonly LimitStatus[]): ConfigError {
  return new ConfigError(
    limits.map(({ limit, description }) => {
      const { env } = settings[SETTINGS[limit].name];
      return `${env} is a limit that this machine cannot enforce: ${description}; allowed: 0 for no limit`;
    }),
  );
}

/** The limits that are enforced, on one line. */
export function limitsInBrief(limits: readonly LimitStatus[]): string {
  const held = limits.filter(({ by }) => by !== 'nothing');
  const each = held.map(({ limit, value, per }) => {
    const figure = formatLimit(limit, value) + (limit === 'memoryBytes' ? ' of memory' : '');
    return `${figure} per ${per === 'slot' ? 'run' : per}`;
  });
  return each.join(', ') || 'none';
}

/** The limits that are not enforced, with the reason. */
export function unenforcedLimits(limits: readonly LimitStatus[]): string[] {
  return limits
    .filter(({ by }) => by === 'nothing')
    .map(({ limit, description }) => `limit on ${limitTitle(limit)}: ${description}`);
}
