/**
 * The one table of settings. Types, flags, environment, file, help and docs/configuration.md all come from it.
 * A setting is added to its group's file in `settings/` and nowhere else.
 *
 * - The name on the left is the property of `Config`. `env` is what users rely on and never changes.
 * - `key` is the place in the configuration file (dots are nesting); the flag is the key with dashes.
 * - No default means that the setting may be absent, unless `config.ts` works it out from others.
 */

import { approvalsSettings } from './settings/approvals.ts';
import { containersSettings } from './settings/containers.ts';
import { dockerSettings } from './settings/docker.ts';
import { jobsSettings } from './settings/jobs.ts';
import { kubernetesSettings } from './settings/kubernetes.ts';
import { modalSettings } from './settings/modal.ts';
import { modelSettings } from './settings/model.ts';
import { nomadSettings } from './settings/nomad.ts';
import { operationSettings } from './settings/operation.ts';
import { runsSettings } from './settings/runs.ts';
import { sandboxSettings } from './settings/sandbox.ts';
import { serverSettings } from './settings/server.ts';
import type { Setting } from './settings/setting.ts';
import { slotsSettings } from './settings/slots.ts';
import { storageSettings } from './settings/storage.ts';
import { workspaceSettings } from './settings/workspaces.ts';

export { groups, type Setting } from './settings/setting.ts';

/** How to name the configuration file itself; not a setting, because a file cannot name itself. */
export const configFileOption = { env: 'TALARIA_CONFIG', flag: 'config', fileName: 'config.json' } as const;

/** In the order of help and documentation, within each group. */
export const settings = {
  ...serverSettings,
  ...storageSettings,
  ...modelSettings,
  ...runsSettings,
  ...jobsSettings,
  ...sandboxSettings,
  ...workspaceSettings,
  ...dockerSettings,
  ...kubernetesSettings,
  ...modalSettings,
  ...nomadSettings,
  ...containersSettings,
  ...approvalsSettings,
  ...slotsSettings,
  ...operationSettings,
};

export type SettingName = keyof typeof settings;

/** The value of each setting, as the table types it. */
export type SettingValues = {
  readonly [Name in SettingName]: ValueOf<(typeof settings)[Name]>;
};

type ValueOf<S> = S extends Setting<infer T, infer D> ? (undefined extends D ? T | undefined : T) : never;

/** The table for code that treats all settings alike. */
export const settingList: readonly (readonly [SettingName, Setting<unknown>])[] = Object.entries(
  settings,
) as unknown as [SettingName, Setting<unknown>][];

export function flagOf(setting: Pick<Setting<unknown>, 'key'>): string {
  return setting.key.replace(/[._]/g, '-');
}
