/**
 * One command, from the first process of its pid namespace to the shell.
 *
 *   first process   mounts what is the command's own: /proc, /dev/shm, terminals, the workspace and its /tmp. It starts the
 *                   command, waits for it, and ends with its code; then the kernel ends everything that is left.
 *   command         takes the script, the output and the input of the request, becomes the user of its slot without any
 *                   right, is filtered, and becomes the shell
 *
 * Only the request differs from one command of a slot to the next, so its table is made once.
 *
 * The first process stays separate: if the command were it, the kernel would ignore signals it sends to itself. It dies
 * with the keeper.
 */
import type { Architecture } from '../isolation/entry/call-numbers.ts';
import { type Step, TextList, Word, words } from '../isolation/entry/call-table.ts';
import { filterSteps, mountFlags, userSteps } from '../isolation/entry/entry-program.ts';
import { EMPTY_DIR, EMPTY_FILE, HOST_DIR, type ProcView, SHM_BYTES } from '../isolation/system-view.ts';
import { networkSteps } from './keeper-table.ts';
import { begunSteps, EXCHANGE, REFUSAL, REPORT_BYTES, REPORTS, REQUESTED, WORDS } from './layout.ts';

const CLONE_NEWNS = 0x20000;
const CLONE_NEWIPC = 0x8000000;
const CLONE_NEWPID = 0x20000000;
const SIGCHLD = 17;
/** The flags of clone(2) for the first process of a command. */
export const COMMAND_FLAGS = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID | SIGCHLD;

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;
const SIG_SETMASK = 2;
const O_WRONLY = 1;
const AT_FDCWD = -100;
const SEEK_CUR = 1;
const ANY_CHILD = -1;
const SCRIPT = 3;
const CODE_UNIT = 256;
const SIGNALLED = 128;
const FAILED_CODE = 125;

const child = new Word(WORDS + 0x700);
const waited = new Word(WORDS + 0x708);
const status = new Word(WORDS + 0x710);
const code = new Word(WORDS + 0x720);
const opened = new Word(WORDS + 0x728);

export interface CommandPlan {
  /** The places of the workspace and its /tmp inside, below HOST_DIR. */
  workspace: string;
  tmp: string;
  workspaceDir: string;
  proc: ProcView;
  /** The kernel user and group to become, if it is another, and the one that a user namespace is made for. */
  user: number | undefined;
  mappedUser: number;
  /** Whether the request names an input. Without it the input is at its end. */
  hasInput: boolean;
  /** Whether the request names a pipe for errors. */
  hasErrors: boolean;
  /** Whether it leaves the network of the sandbox. */
  isCutOff: boolean;
  shell: readonly string[];
  env: Readonly<Record<string, string>>;
}

export function commandSteps(plan: CommandPlan, architecture: Architecture): Step[] {
  return [
    ['prctl', [PR_SET_PDEATHSIG, SIGKILL]],
    // Opened here, so that both share its position.
    ['openat', [EXCHANGE, REQUESTED.script], { to: opened }],
    ['dup3', [opened, SCRIPT]],
    ['close', [opened]],
    ...(plan.isCutOff ? networkSteps() : []),
    ...mountSteps(plan),
    ['clone', [SIGCHLD], { to: child, ifZero: 'command' }],
    ...waitSteps(),
    ...becomeCommand(plan, architecture),
    ['write', [REPORTS, REFUSAL, REPORT_BYTES], { label: 'refused', ifNegative: 'failed' }],
    ['exit_group', [FAILED_CODE], { label: 'failed' }],
  ];
}

/** Mounts over what the sandbox has there already. The last mount covers everything that is not the command's own. */
function mountSteps({ workspace, tmp, workspaceDir, proc }: CommandPlan): Step[] {
  const bind = mountFlags(['bind']);
  const closed = mountFlags(['nosuid', 'nodev', 'noexec']);
  const readOnly = mountFlags(['remount', 'bind', 'ro', 'nosuid', 'nodev', 'noexec']);
  const terminals = 'newinstance,ptmxmode=0666,mode=0620';
  return [
    ['mount', ['proc', '/proc', 'proc', closed]],
    ...proc.readOnly.flatMap((path): Step[] => [
      ['mount', [path, path, 0, bind]],
      ['mount', [0, path, 0, readOnly]],
    ]),
    ...proc.empty.map((path): Step => ['mount', [EMPTY_FILE, path, 0, bind]]),
    ['mount', ['tmpfs', '/dev/shm', 'tmpfs', mountFlags(['nosuid', 'nodev']), `size=${SHM_BYTES},mode=1777`]],
    ['mount', ['devpts', '/dev/pts', 'devpts', mountFlags(['nosuid', 'noexec']), terminals]],
    ['mount', [tmp, '/tmp', 0, bind]],
    ['mount', [workspace, workspaceDir, 0, bind]],
    ['mount', [EMPTY_DIR, HOST_DIR, 0, bind]],
  ];
}

/** As a shell reports it: the code of the command, or 128 and the number of the signal that ended it. */
function waitSteps(): Step[] {
  const isLess = (word: Word, value: number, less: string, label: string): Step => [
    'subtract',
    [word, value],
    { label, ifNegative: less },
  ];
  return [
    // Also reaps what the command left to it.
    ['wait4', [ANY_CHILD, status.address], { label: 'wait', to: waited }],
    ['subtract', [waited, child], { ifNegative: 'wait', ifPositive: 'wait' }],
    ['subtract', [status, 0], { to: code, ifNegative: 'failed', ifZero: 'exit' }],
    // If the program ended before it had read the script, the sandbox failed and not the caller's command.
    ['lseek', [SCRIPT, 0, SEEK_CUR], { ifZero: 'refused' }],
    isLess(status, CODE_UNIT, 'signalled', 'judge'),
    // The exit code is the second byte of the status.
    ['exit_group', [new Word(status.address + 1)]],
    // With the bit for a core file, the status is already the code that a shell reports.
    isLess(status, SIGNALLED, 'plain', 'signalled'),
    ['exit_group', [code], { label: 'exit' }],
    [
      'subtract',
      [status, -SIGNALLED],
      { label: 'plain', to: code, ifNegative: 'failed', ifPositive: 'exit' },
    ],
  ];
}

function becomeCommand(plan: CommandPlan, architecture: Architecture): Step[] {
  const { hasInput, hasErrors, user, mappedUser, shell, env, workspaceDir } = plan;
  const [program = ''] = shell;
  return [
    ['setsid', [], { label: 'command' }],
    ['openat', [EXCHANGE, REQUESTED.output, O_WRONLY], { to: opened }],
    ['dup3', [opened, 1]],
    ['dup3', [opened, 2]],
    ['close', [opened]],
    ...(hasErrors ? errorSteps() : []),
    ['openat', hasInput ? [EXCHANGE, REQUESTED.input] : [AT_FDCWD, '/dev/null'], { to: opened }],
    ['dup3', [opened, 0]],
    ['close', [opened]],
    ['rt_sigprocmask', [SIG_SETMASK, words([0]), 0, 8]],
    ...userSteps({ user, mappedUser }),
    ['chdir', [workspaceDir]],
    ...filterSteps(architecture),
    ...begunSteps(),
    [
      'execve',
      [
        program,
        new TextList(shell),
        new TextList(Object.entries(env).map(([name, value]) => `${name}=${value}`)),
      ],
    ],
  ];
}

function errorSteps(): Step[] {
  return [
    ['openat', [EXCHANGE, REQUESTED.errors, O_WRONLY], { to: opened }],
    ['dup3', [opened, 2]],
    ['close', [opened]],
  ];
}
