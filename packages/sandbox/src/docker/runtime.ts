/**
 * The runtime that runs the containers of a daemon. Docker's own leaves commands to the kernel of the machine, whose control
 * groups count their processes. A runtime may also bring a kernel of its own (gVisor, Kata). The machine then sees only that
 * kernel's threads, so the kernel inside has to count, for the one user that a container of ours has.
 */
export interface Runtime {
  /** The daemon's name for it; undefined means the daemon's default. */
  name: string | undefined;
  /** Whether a container has a kernel of its own. */
  ownKernel: boolean;
}

/**
 * Threads of the machine that a container with a kernel of its own may use: for each of its processes, and for the kernel
 * itself. Far more than gVisor needs.
 */
const THREADS_PER_PROCESS = 8;
const KERNEL_THREADS = 1_024;
/** Memory for such a kernel itself. gVisor needs 15 MB, and 0.2 MB for each process. */
const KERNEL_MEMORY_BYTES = 128 * 1024 * 1024;

interface ProcessOptions {
  PidsLimit?: number;
  Ulimits: { Name: string; Soft: number; Hard: number }[];
}

/** The Docker options that limit a container to this many processes and threads. */
export function processOptions(processes: number | undefined, { ownKernel }: Runtime): ProcessOptions {
  if (processes === undefined) return { Ulimits: [] };
  // On the kernel of the machine an rlimit would count the user's processes in all containers together.
  if (!ownKernel) return { PidsLimit: processes, Ulimits: [] };
  return {
    PidsLimit: processes * THREADS_PER_PROCESS + KERNEL_THREADS,
    Ulimits: [{ Name: 'nproc', Soft: processes, Hard: processes }],
  };
}

/** Memory of a container beyond that of its programs. */
export function kernelMemory({ ownKernel }: Runtime): number {
  return ownKernel ? KERNEL_MEMORY_BYTES : 0;
}
