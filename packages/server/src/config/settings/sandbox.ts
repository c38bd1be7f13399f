/** Where tools run, and what a run's commands may use there. */

import { boolean, choice, integer, LONGEST_TIMER_SECONDS, number, seconds } from '../kinds/kinds.ts';
import { sandboxUsers } from '../kinds/sandbox-users.ts';
import { BACKEND_NAMES, whereToolsRun } from './backends.ts';
import { define, MAX_MB } from './setting.ts';

export const sandboxSettings = {
  backend: define({
    env: 'TALARIA_BACKEND',
    key: 'backend',
    kind: choice(BACKEND_NAMES),
    default: 'local',
    group: 'Sandbox and approvals',
    about: whereToolsRun(),
  }),
  sandboxIsolation: define({
    env: 'TALARIA_SANDBOX_ISOLATION',
    key: 'sandbox_isolation',
    kind: choice(['auto', 'bubblewrap', 'unshare', 'none']),
    default: 'auto',
    group: 'Sandbox and approvals',
    about: 'how the local sandbox isolates commands; `auto` takes the strongest way that works',
  }),
  sandboxUsers: define({
    env: 'TALARIA_SANDBOX_USERS',
    key: 'sandbox_users',
    kind: sandboxUsers(),
    default: 'auto',
    group: 'Sandbox and approvals',
    about:
      "kernel users of runs in the local sandbox: `auto` gives each run its own if the server is root, `shared` uses the server's own",
  }),
  allowNetwork: define({
    env: 'TALARIA_ALLOW_NETWORK',
    key: 'allow_network',
    kind: boolean(),
    default: false,
    group: 'Sandbox and approvals',
    about: 'whether commands in the sandbox can reach the network',
  }),
  sandboxMemoryMb: define({
    env: 'TALARIA_SANDBOX_MEMORY_MB',
    key: 'sandbox_memory_mb',
    kind: integer({ min: 0, max: MAX_MB }),
    default: 4096,
    group: 'Sandbox and approvals',
    about: "memory of a run's commands; 0 is no limit",
  }),
  sandboxProcesses: define({
    env: 'TALARIA_SANDBOX_PROCESSES',
    key: 'sandbox_processes',
    // Threads count: a parallel build on a large machine has hundreds.
    kind: integer({ min: 0, max: 4_194_304 }),
    default: 1024,
    group: 'Sandbox and approvals',
    about: "processes and threads of a run's commands; 0 is no limit",
  }),
  sandboxCpus: define({
    env: 'TALARIA_SANDBOX_CPUS',
    key: 'sandbox_cpus',
    kind: number({ min: 0, max: 4096 }),
    default: 0,
    group: 'Sandbox and approvals',
    about: "processors' worth of time for a run's commands, such as 1.5; 0 is no limit",
  }),
  sandboxFileSizeMb: define({
    env: 'TALARIA_SANDBOX_FILE_SIZE_MB',
    key: 'sandbox_file_size_mb',
    kind: integer({ min: 0, max: MAX_MB }),
    default: 10_240,
    group: 'Sandbox and approvals',
    about: 'largest file that a command may write; 0 is no limit',
  }),
  sandboxWorkspaceMb: define({
    env: 'TALARIA_SANDBOX_WORKSPACE_MB',
    key: 'sandbox_workspace_mb',
    kind: integer({ min: 0, max: MAX_MB }),
    default: 10_240,
    group: 'Sandbox and approvals',
    about:
      "disk space of a run's workspace, including its /tmp; 0 is no limit, but a workspace that comes back from a container on another machine may be 16 GB at most (docs/operations.md)",
  }),
  toolTimeoutSeconds: define({
    env: 'TALARIA_TOOL_TIMEOUT_SECONDS',
    key: 'tool_timeout_seconds',
    kind: seconds({ min: 0.1, max: LONGEST_TIMER_SECONDS }),
    default: 180,
    group: 'Sandbox and approvals',
    about: 'how long a tool may take; a call may ask for less',
  }),
};
