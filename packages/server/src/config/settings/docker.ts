/** The backend `docker`. */

import { string } from '../kinds/kinds.ts';
import { define } from './setting.ts';

export const dockerSettings = {
  dockerImage: define({
    env: 'TALARIA_DOCKER_IMAGE',
    key: 'docker_image',
    kind: string(),
    default: undefined,
    group: 'Sandbox and approvals',
    about: 'image of the containers; it has to be on the machine already',
  }),
  dockerHost: define({
    env: 'DOCKER_HOST',
    key: 'docker_host',
    // Checked only if it is used (../backend-rules.ts): other programs read it too, and accept more.
    kind: string(),
    default: 'unix:///var/run/docker.sock',
    group: 'Sandbox and approvals',
    about: "where Docker's daemon listens, on this machine",
  }),
  dockerRuntime: define({
    env: 'TALARIA_DOCKER_RUNTIME',
    key: 'docker_runtime',
    kind: string(),
    default: undefined,
    defaultText: "the daemon's",
    group: 'Sandbox and approvals',
    about: 'runtime of the containers, by its name in the daemon: runsc for gVisor (docs/isolation.md)',
  }),
};
