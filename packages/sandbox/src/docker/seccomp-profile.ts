/**
 * The system calls of a container whose slots are separated by namespaces of their own.
 *
 * Docker's own profile forbids making a namespace, and there is no profile that is Docker's plus a little: it can only
 * be replaced. This one forbids what no command in a sandbox needs and what has opened kernels before. What is left
 * still asks for capabilities, and nothing in the container has any outside the namespaces it made; commands are below
 * those and cannot make further ones (local/isolation).
 */
const FORBIDDEN = [
  // The kernel itself: its modules, its replacement, its programs, its log.
  ...['init_module', 'finit_module', 'delete_module', 'create_module', 'query_module', 'get_kernel_syms'],
  ...['kexec_load', 'kexec_file_load', 'reboot', 'bpf', 'syslog', 'acct', 'swapon', 'swapoff'],
  ...['quotactl', 'quotactl_fd', 'nfsservctl', 'lookup_dcookie', 'iopl', 'ioperm', 'vhangup'],
  // Clocks belong to the whole machine.
  ...['clock_settime', 'clock_settime64', 'clock_adjtime', 'clock_adjtime64', 'settimeofday', 'stime'],
  // Keyrings are not separated by namespaces, and a file handle opens files past every mount.
  ...['add_key', 'request_key', 'keyctl', 'open_by_handle_at'],
  // Ways into the kernel with a long record.
  ...[
    'perf_event_open',
    'userfaultfd',
    'io_uring_setup',
    'io_uring_enter',
    'io_uring_register',
    'fanotify_init',
  ],
  ...['vm86', 'vm86old', 'uselib', 'ustat', 'sysfs', '_sysctl'],
  // Placing memory for others, and taking their open files, is nobody's business here.
  ...['move_pages', 'migrate_pages', 'pidfd_getfd'],
  // The 32-bit way to a socket hides its family from the rule below.
  'socketcall',
];

/** Sockets of these families do not belong to a network namespace, so having no network would not keep them out. */
const FORBIDDEN_SOCKET_FAMILIES = { AF_ALG: 38, AF_VSOCK: 40 };

const EPERM = 1;

const ARCHITECTURES = [
  { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
  { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
];

/** In the form in which Docker takes a profile. */
export function seccompProfile(): string {
  const forbid = { action: 'SCMP_ACT_ERRNO', errnoRet: EPERM };
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ALLOW',
    archMap: ARCHITECTURES,
    syscalls: [
      { names: FORBIDDEN, ...forbid },
      ...Object.values(FORBIDDEN_SOCKET_FAMILIES).map((value) => ({
        names: ['socket'],
        args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }],
        ...forbid,
      })),
    ],
  });
}
