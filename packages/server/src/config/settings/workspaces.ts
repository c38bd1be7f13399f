/** What runs may begin with. */

import { directories } from '../kinds/directories.ts';
import { integer } from '../kinds/kinds.ts';
import { define, MAX_MB } from './setting.ts';

export const workspaceSettings = {
  directories: define({
    env: 'TALARIA_DIRECTORIES',
    key: 'directories',
    kind: directories(),
    default: [],
    defaultText: 'none',
    group: 'Sandbox and approvals',
    about:
      'directories of this machine that runs may begin with: `{"app": {"path": "/srv/app", "mode": "copy"}}`; with `copy` each run gets a copy, with `mount` runs work in the directory itself; `keys` names the API keys that may use it',
  }),
  workspaceSetupMb: define({
    env: 'TALARIA_WORKSPACE_SETUP_MB',
    key: 'workspace_setup_mb',
    kind: integer({ min: 1, max: MAX_MB }),
    default: 2048,
    group: 'Sandbox and approvals',
    about:
      'how much the files, the unpacked archives and the copied directory that a run begins with may be together',
  }),
  workspaceSetupEntries: define({
    env: 'TALARIA_WORKSPACE_SETUP_ENTRIES',
    key: 'workspace_setup_entries',
    kind: integer({ min: 1, max: 10_000_000 }),
    default: 100_000,
    group: 'Sandbox and approvals',
    about: 'how many files, directories and links a run may begin with',
  }),
};
