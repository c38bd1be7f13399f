/**
 * The second line of defence behind the namespaces of a command: a system call filter and no_new_privs, set by an entry
 * program, and a separate kernel user for each slot. A machine may lack the first (no machine code for it, a directory
 * from which nothing may be run) or the second (the server is not root). So the choices are tried from the strongest to
 * none, and what is missing is reported.
 */
import type { HardeningStatus } from '../../backend.ts';
import { SandboxError } from '../../errors.ts';
import { entryArchitecture } from './entry/entry-program.ts';
import { EntryPrograms } from './entry/entry-programs.ts';
import type { Hardening } from './isolation-driver.ts';
import { SharedUser, SlotUsers, usualUsers, type WantedUsers } from './slot-users.ts';

export interface HardeningChoice {
  hardening: Hardening;
  /** For a first command: prints something if it does not hold. */
  probe: string;
  /** `reason`: why the choice before this one failed; absent if there was none. */
  describe(reason: string): HardeningStatus[];
}

const FILTERED: HardeningStatus = {
  name: 'system calls',
  holds: true,
  description: 'filtered; keyrings, namespaces, mounts and the inside of the kernel are out of reach',
};
const OWN_USERS: HardeningStatus = {
  name: 'kernel users',
  holds: true,
  description: 'each slot has its own',
};

const PROBE_FILTER = `filter=
while read -r name value; do
  case $name in Seccomp:) filter=$value ;; NoNewPrivs:) [ "$value" = 1 ] || echo "rights can be gained" ;; esac
done < /proc/self/status
[ "$filter" = 2 ] || echo "system calls are not filtered"`;

/** From the strongest to none. */
export function hardeningChoices(wanted: WantedUsers, rootDir: string): HardeningChoice[] {
  const architecture = entryArchitecture();
  const entries = architecture && new EntryPrograms(rootDir, architecture);
  const range = wanted === 'auto' ? usualUsers() : wanted;
  const isRequired = typeof wanted === 'object';
  if (isRequired && (!entries || process.getuid?.() !== 0)) {
    const why = entries ? 'the server is not root' : `there is no entry program for ${process.arch}`;
    throw new SandboxError('isolation_unavailable', `Slots cannot have users of their own: ${why}.`);
  }
  const shared = (reason: string): HardeningStatus => ({
    name: 'kernel users',
    holds: false,
    description: `every slot has the server's (${reason})`,
  });
  const whyShared = typeof range === 'object' ? undefined : range === 'shared' ? 'as configured' : range;
  const choices: HardeningChoice[] = [];
  if (entries && typeof range === 'object') {
    choices.push({
      hardening: { entries, users: new SlotUsers(range) },
      probe: PROBE_FILTER,
      describe: () => [FILTERED, OWN_USERS],
    });
  }
  if (isRequired) return choices;
  if (entries) {
    choices.push({
      hardening: { entries, users: new SharedUser() },
      probe: PROBE_FILTER,
      describe: (reason) => [FILTERED, shared(whyShared ?? reason)],
    });
  }
  choices.push({
    hardening: { entries: undefined, users: new SharedUser() },
    probe: '',
    describe(reason) {
      const why = reason || `there is no filter for ${process.arch}`;
      const description = `not filtered (${why}): commands reach the keyrings of the server's user`;
      return [{ name: 'system calls', holds: false, description }, shared(whyShared ?? why)];
    },
  });
  return choices;
}
