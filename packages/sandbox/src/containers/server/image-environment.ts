/**
 * The environment variables that an image sets for its programs, such as PATH: a command in a container gets them, as
 * in any other container. Variables of this process, and those that every command gets from us, are left out.
 */
import { SYSTEM_PATH } from '../../host/system-path.ts';

const OURS = ['HOME', 'HOSTNAME', 'PWD', 'OLDPWD', 'SHLVL', '_', 'TERM', 'TMPDIR', 'USER', 'LOGNAME'];
/** Nomad, Kubernetes and Modal set variables that describe the task, the pod or the sandbox. Commands need none of them. */
const THEIRS = /^(NOMAD|KUBERNETES|MODAL)_/;

export function imageEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found: Record<string, string> = {};
  // A variable that was taken from this process is empty (docker/container-spec.ts).
  for (const [name, value] of Object.entries(env))
    if (value && !OURS.includes(name) && !THEIRS.test(name)) found[name] = value;
  // The programs that build a sandbox are found in any case.
  if (found.PATH) found.PATH = `${found.PATH}:${SYSTEM_PATH}`;
  return found;
}
