/** The backend `modal`. */

import { integer, number, secret, string } from '../kinds/kinds.ts';
import { define } from './setting.ts';

export const modalSettings = {
  modalTokenId: define({
    env: 'MODAL_TOKEN_ID',
    key: 'modal_token_id',
    kind: string(),
    default: undefined,
    defaultText: 'from `~/.modal.toml`',
    group: 'Sandbox and approvals',
    about: "id of the token for Modal; Modal's own programs read it, too",
  }),
  modalTokenSecret: define({
    env: 'MODAL_TOKEN_SECRET',
    key: 'modal_token_secret',
    kind: secret(),
    default: undefined,
    defaultText: 'from `~/.modal.toml`',
    group: 'Sandbox and approvals',
    about: 'secret of the token for Modal',
  }),
  modalEnvironment: define({
    env: 'MODAL_ENVIRONMENT',
    key: 'modal_environment',
    kind: string(),
    default: undefined,
    defaultText: 'from `~/.modal.toml`',
    group: 'Sandbox and approvals',
    about: "Modal's environment that sandboxes are in",
  }),
  modalApp: define({
    env: 'TALARIA_MODAL_APP',
    key: 'modal_app',
    kind: string({ maxChars: 64 }),
    default: 'talaria',
    group: 'Sandbox and approvals',
    about: "Modal's app that sandboxes are in; created if missing",
  }),
  modalImage: define({
    env: 'TALARIA_MODAL_IMAGE',
    key: 'modal_image',
    kind: string(),
    default: 'debian:13',
    group: 'Sandbox and approvals',
    about: 'image of sandboxes on Modal, from a public registry',
  }),
  modalRegions: define({
    env: 'TALARIA_MODAL_REGIONS',
    key: 'modal_regions',
    kind: string(),
    default: undefined,
    defaultText: 'any',
    group: 'Sandbox and approvals',
    about: 'regions in which sandboxes on Modal may run, separated by commas',
  }),
  modalCpus: define({
    env: 'TALARIA_MODAL_CPUS',
    key: 'modal_cpus',
    kind: number({ min: 0.125, max: 64 }),
    default: 0.25,
    group: 'Sandbox and approvals',
    about: 'processors reserved for each sandbox on Modal; `TALARIA_SANDBOX_CPUS` is the most',
  }),
  modalMemoryMb: define({
    env: 'TALARIA_MODAL_MEMORY_MB',
    key: 'modal_memory_mb',
    kind: integer({ min: 128, max: 344_064 }),
    default: 512,
    group: 'Sandbox and approvals',
    about: 'memory reserved for each sandbox on Modal; `TALARIA_SANDBOX_MEMORY_MB` is the most',
  }),
  modalTimeoutSeconds: define({
    env: 'TALARIA_MODAL_TIMEOUT_SECONDS',
    key: 'modal_timeout_seconds',
    kind: integer({ min: 60, max: 86_400 }),
    default: 86_400,
    group: 'Sandbox and approvals',
    about: 'how long a sandbox on Modal lives at most, whatever runs in it',
  }),
};
