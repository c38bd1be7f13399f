/**
 * The system calls of a container whose slots are separated by namespaces.
 *
 * Docker's own profile forbids creating namespaces, and a profile cannot extend Docker's: it can only replace it. This
 * one forbids what the table of all sandboxes forbids (system-calls.ts), except namespaces and mounts. Those still need
 * capabilities, and nothing in the container has any outside the namespaces it created. Commands run below those,
 * behind a filter of their own (local/isolation).
 */
import { FORBIDDEN_CALLS, SOCKET_FAMILIES } from '../system-calls.ts';

/** Calls that only 32-bit programs can make. The last one is their other way to a socket, which hides the family. */
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

/** All calls between the allowed ones, and everything above: a profile can only name what it forbids. */
function forbiddenFamilies(): { value: number; op: string }[] {
  const allowed: readonly number[] = SOCKET_FAMILIES;
  const highest = Math.max(...allowed);
  const between = Array.from({ length: highest }, (_, family) => family).filter(
    (family) => !allowed.includes(family),
  );
  return [...between.map((value) => ({ value, op: 'SCMP_CMP_EQ' })), { value: highest, op: 'SCMP_CMP_GT' }];
}
