/**
 * The system calls that commands are refused, by name: what no command in a sandbox needs and what has opened kernels
 * before. It is what Docker refuses by default, and a little more. Both users of this table only refuse what it names, so
 * that a call the kernel learns tomorrow works; the local backend turns it into a filter (local/isolation/entry), the
 * Docker backend into a profile (docker/seccomp-profile.ts).
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
  // Ways into the kernel with a long record. What io_uring does passes by every filter.
  ...['perf_event_open', 'userfaultfd', 'fanotify_init'],
  ...['io_uring_setup', 'io_uring_enter', 'io_uring_register'],
  ...['uselib', 'ustat', 'sysfs', '_sysctl'],
  // Placing memory for others, and taking their open files, is nobody's business here.
  ...['move_pages', 'migrate_pages', 'pidfd_getfd'],
  ...['mbind', 'get_mempolicy', 'set_mempolicy', 'set_mempolicy_home_node'],
] as const;

/** What changes namespaces and mounts. Only what builds a sandbox needs it, and that is done before commands begin. */
export const NAMESPACE_CALLS = [
  ...['unshare', 'setns', 'chroot', 'pivot_root', 'sethostname', 'setdomainname'],
  ...['mount', 'umount2', 'fsopen', 'fsconfig', 'fsmount', 'fspick'],
  ...['move_mount', 'open_tree', 'open_tree_attr', 'mount_setattr'],
] as const;

/**
 * The families of sockets that programs use: unix, IPv4, IPv6, netlink. The others are old or rare, some do not belong to
 * a network namespace (AF_ALG, AF_VSOCK), and asking for one loads a kernel module that few have ever looked at.
 */
export const SOCKET_FAMILIES = [1, 2, 10, 16] as const;
