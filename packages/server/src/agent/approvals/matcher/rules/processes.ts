/** kill, pkill, killall: which signal, and whether the target is everything. */
import { ENV, hasHole } from '../walk/marks.ts';
import type { Call } from './call.ts';

const FORCE = /^(?:-9|-KILL|-SIGKILL|-s9|-s(?:SIG)?KILL|--signal=(?:9|(?:SIG)?KILL)|-n9)$/i;
const FORCE_NAME = /^(?:9|(?:SIG)?KILL)$/i;

export function kill({ args, host }: Call): void {
  const [first = ''] = args;
  // `kill -1 PID` sends signal 1; -1 as a target, after a signal or `--`, means every process.
  const targets = first.startsWith('-') && first !== '--' ? args.slice(1) : args;
  if (targets.some((arg) => arg === '-1' || arg === '1') || (args.length === 1 && first === '-1')) {
    host.scope.report('kill all processes');
  }
  // Somebody chose the pid in a variable. The output of a command can be any number of pids.
  const found = args.some((arg) => hasHole(arg) && arg !== ENV) || host.scope.bulkDelete !== undefined;
  if (isForced(args) && found) host.scope.report('force kill processes');
}

export function killByName({ args, host }: Call): void {
  if (isForced(args)) host.scope.report('force kill processes');
  const patterns = args.filter((arg) => !arg.startsWith('-'));
  const wholeUser = args.some((arg) => /^-[a-z]*[uU]$|^--e?uid$|^--user/.test(arg)) && patterns.length <= 1;
  if (wholeUser || patterns.some((pattern) => /^[.^]?[.*]?[*+]?$/.test(pattern))) {
    host.scope.report('kill all processes');
  }
}

function isForced(args: string[]): boolean {
  return args.some(
    (arg, i) => FORCE.test(arg) || (/^(?:-s|-n|--signal)$/.test(arg) && FORCE_NAME.test(args[i + 1] ?? '')),
  );
}
