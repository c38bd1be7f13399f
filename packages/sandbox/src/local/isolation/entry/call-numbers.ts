/**
 * The numbers of the system calls that entry programs make and that their filters know, from the kernel's headers; a
 * test compares the two. `undefined` if an architecture never had the call.
 */
export type Architecture = 'x64' | 'arm64';

type Numbers = readonly [x64: number, arm64: number | undefined];

const NUMBERS = {
  _sysctl: [156, undefined],
  acct: [163, 89],
  add_key: [248, 217],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  clone: [56, 220],
  clone3: [435, 435],
  create_module: [174, undefined],
  delete_module: [176, 106],
  fallocate: [285, 47],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  get_kernel_syms: [177, undefined],
  get_mempolicy: [239, 236],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  ioctl: [16, 29],
  ioperm: [173, undefined],
  iopl: [172, undefined],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  lookup_dcookie: [212, 18],
  mbind: [237, 235],
  migrate_pages: [256, 238],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  move_pages: [279, 239],
  nfsservctl: [180, 42],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  openat: [257, 56],
  perf_event_open: [298, 241],
  personality: [135, 92],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  prctl: [157, 167],
  query_module: [178, undefined],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  request_key: [249, 218],
  seccomp: [317, 277],
  set_mempolicy: [238, 237],
  set_mempolicy_home_node: [450, 450],
  setdomainname: [171, 162],
  setgroups: [116, 159],
  sethostname: [170, 161],
  setns: [308, 268],
  setresgid: [119, 149],
  setresuid: [117, 147],
  settimeofday: [164, 170],
  socket: [41, 198],
  swapoff: [168, 225],
  swapon: [167, 224],
  sysfs: [139, undefined],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  uselib: [134, undefined],
  userfaultfd: [323, 282],
  ustat: [136, undefined],
  vhangup: [153, 58],
  write: [1, 64],
} as const satisfies Record<string, Numbers>;

export type CallName = keyof typeof NUMBERS;

export const CALL_NAMES = Object.keys(NUMBERS) as CallName[];

export function callNumber(name: CallName, architecture: Architecture): number | undefined {
  const [x64, arm64] = NUMBERS[name];
  return architecture === 'x64' ? x64 : arm64;
}
