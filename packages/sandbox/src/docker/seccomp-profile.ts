/**
 * The system calls of a container whose slots are separated by namespaces of their own.
 *
 * Docker's own profile forbids making a namespace, and there is no profile that is Docker's plus a little: it can only
 * be replaced. This one forbids what the table of all sandboxes does (system-calls.ts) except for namespaces and mounts.
 * What is left still asks for capabilities, and nothing in the container has any outside the namespaces it made; commands
 * are below those, behind a filter of their own (local/isolation).
 */
import { FORBIDDEN_CALLS, SOCKET_FAMILIES } from '../system-calls.ts';

/** Calls that only 32-bit programs can make. The last is their other way to a socket, which hides the family. */
const FORBIDDEN_32_BIT = ['clock_settime64', 'clock_adjtime64', 'stime', 'vm86', 'vm86old', 'socketcall'];

const EPERM = 1;
const EAFNOSUPPORT = 97;

const ARCHITECTURES = [
  { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
  { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
];

/** In the form in which Docker takes a profile. */
export function seccompProfile(): string {
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ALLOW',
    archMap: ARCHITECTURES,
    syscalls: [
      { names: [...FORBIDDEN_CALLS, ...FORBIDDEN_32_BIT], action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
      ...forbiddenFamilies().map((test) => ({
        names: ['socket'],
        args: [{ index: 0, ...test }],
        action: 'SCMP_ACT_ERRNO',
        errnoRet: EAFNOSUPPORT,
      })),
    ],
  });
}

/** All that lie between those that are allowed, and everything above: a profile can only name what it forbids. */
function forbiddenFamilies(): { value: number; op: string }[] {
  const allowed: readonly number[] = SOCKET_FAMILIES;
  const highest = Math.max(...allowed);
  const between = Array.from({ length: highest }, (_, family) => family).filter(
    (family) => !allowed.includes(family),
  );
  return [...between.map((value) => ({ value, op: 'SCMP_CMP_EQ' })), { value: highest, op: 'SCMP_CMP_GT' }];
}
