/**
 * The system calls that commands may not make, by name: calls that no sandboxed command needs and that have been used
 * to attack kernels. It is Docker's default list, and a little more. Both users of this table refuse only what it
 * names, so that a call that the kernel adds tomorrow works; the local backend turns it into a filter
 * (local/isolation/entry), the Docker backend into a profile (docker/seccomp-profile.ts).
 */
export const FORBIDDEN_CALLS = [
  // The kernel itself: its modules, its replacement, its programs, its log.
  ...['init_module', 'finit_module', 'delete_module', 'create_module', 'query_module', 'get_kernel_syms'],
  ...['kexec_load', 'kexec_file_load', 'reboot', 'bpf', 'syslog', 'acct', 'swapon', 'swapoff'],
  ...['quotactl', 'quotactl_fd', 'nfsservctl', 'lookup_dcookie', 'iopl', 'ioperm', 'vhangup'],
  // Clocks belong to the whole machine.
  ...['clock_settime', 'clock_adjtime', 'settimeofday'],
  // Keyrings are not separated by namespaces, and a file handle opens files past every mount.
  ...['add_key', 'request_key', 'keyctl', 'open_by_handle_at'],
  // Parts of the kernel with a long record of flaws. What io_uring does bypasses every filter.
  ...['perf_event_open', 'userfaultfd', 'fanotify_init'],
  ...['io_uring_setup', 'io_uring_enter', 'io_uring_register'],
  ...['uselib', 'ustat', 'sysfs', '_sysctl'],
  // Placing memory for other processes, or taking their open files: no command needs it.
  ...['move_pages', 'migrate_pages', 'pidfd_getfd'],
  ...['mbind', 'get_mempolicy', 'set_mempolicy', 'set_mempolicy_home_node'],
] as const;

/** Calls that change namespaces and mounts. Only the code that builds a sandbox needs them, before commands begin. */
export const NAMESPACE_CALLS = [
  ...['unshare', 'setns', 'chroot', 'pivot_root', 'sethostname', 'setdomainname'],
  ...['mount', 'umount2', 'fsopen', 'fsconfig', 'fsmount', 'fspick'],
  ...['move_mount', 'open_tree', 'open_tree_attr', 'mount_setattr'],
] as const;

/**
 * The socket families that programs use: unix, IPv4, IPv6, netlink. The others are old or rare; some do not belong to a
 * network namespace (AF_ALG, AF_VSOCK), and using one loads a little-reviewed kernel module.
 */
export const SOCKET_FAMILIES = [1, 2, 10, 16] as const;
