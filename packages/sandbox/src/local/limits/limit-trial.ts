/**
 * Checks whether limits hold, with the first command of a backend: they must stop it. That a control group's file could
 * be written or an rlimit be set proves nothing: the kernel may exempt the server's user, or the command may not be in
 * the group.
 *
 * Memory and processor time under a control group are the exception. Using them up would make the kernel report a
 * process that ran out of memory at each start of a server. So there it is enough that the group counts the command.
 */
import { release } from 'node:os';
import type { Isolation } from '../../backend.ts';
import type { LimitName } from '../../limits.ts';
import { NO_TRIAL, type Trial } from '../isolation/trial.ts';

const FORK = '( ( (echo forked); : ); : )';

/** A test whose limit holds may print nothing, and a trial without output counts as one that did not run. */
const BEGUN = 'echo begun';

/** In this order, because a shell that may not fork waits a while and retries: then the trial is over. */
const TESTS = {
  groups: 'while read -r line; do echo "group $line"; done < /proc/self/cgroup',
  fileSize: `(ulimit -f 1; trap '' XFSZ; printf '%4096s' x 2>/dev/null > large && echo 'wrote it all')`,
  // No program can be loaded with so little.
  dataSize: "(ulimit -d 32; exec true) 2>/dev/null && echo 'loaded it'",
  processRlimit: `ulimit -u 1 2>/dev/null || ulimit -p 1; ${FORK}`,
  processGroup: FORK,
};

export type Test = keyof typeof TESTS;

/** Under a group: room for the two shells of a sandbox and a test, but not for FORK, with or without a sandbox. */
export const TRIAL_PROCESSES = 3;

/** The limits that an rlimit can enforce. */
export const RLIMIT_TESTS = {
  fileSizeBytes: 'fileSize',
  memoryBytes: 'dataSize',
  processes: 'processRlimit',
} as const satisfies Partial<Record<LimitName, Test>>;

/** Since Linux 5.14, a user namespace counts its processes separately. */
const COUNTS_PER_NAMESPACE = [5, 14] as const;

export function trialOf(tests: readonly Test[], entrances: readonly number[] = []): Trial {
  if (tests.length === 0) return NO_TRIAL;
  return {
    limits: { entrances, rlimits: {} },
    command: [
      BEGUN,
      ...(Object.keys(TESTS) as Test[]).filter((test) => tests.includes(test)).map((test) => TESTS[test]),
    ].join('\n'),
    isOver: (output) => output.includes('fork'),
  };
}

/** Why an rlimit cannot enforce a limit; undefined if it can. */
export function whyNoRlimit(
  limit: keyof typeof RLIMIT_TESTS,
  output: string,
  isolation: Isolation['kind'],
): string | undefined {
  switch (limit) {
    case 'fileSizeBytes':
      return output.includes('wrote it all') ? 'a first command wrote a file over the limit' : undefined;
    case 'memoryBytes':
      return output.includes('loaded it') ? 'a first command used memory over the limit' : undefined;
    case 'processes':
      return whyNoProcessRlimit(output, isolation);
  }
}

export function couldFork(output: string): boolean {
  return output.includes('forked');
}

function whyNoProcessRlimit(output: string, isolation: Isolation['kind']): string | undefined {
  const allOfTheUser = "the kernel counts all processes of the server's user, not those of a command";
  if (isolation === 'none') return `without isolation ${allOfTheUser}`;
  const [major = 0, minor = 0] = release().split('.').map(Number);
  const [sinceMajor, sinceMinor] = COUNTS_PER_NAMESPACE;
  if (major < sinceMajor || (major === sinceMajor && minor < sinceMinor)) {
    return `before Linux ${sinceMajor}.${sinceMinor} ${allOfTheUser}`;
  }
  if (!couldFork(output)) return undefined;
  return process.getuid?.() === 0
    ? 'the kernel does not count the processes of root; run the server as another user'
    : 'a first command could start processes over the limit';
}
