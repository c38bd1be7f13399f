/**
 * Power, services and processes.
 *
 * | command                                             | verdict                           |
 * |-----------------------------------------------------|-----------------------------------|
 * | shutdown, reboot, halt, poweroff, init 0/6, systemctl poweroff … | never                |
 * | shutdown -c, any of them with --help                | allow                             |
 * | systemctl, service: stop, restart, disable, mask …  | ask: stop/restart system service  |
 * | kill -9 -1, killall5, pkill with a pattern for all  | ask: kill all processes           |
 * | pkill -9, killall -9, kill -9 of a command's output | ask: force kill processes         |
 */
import { NEVER } from '../families.ts';
import type { Call, RuleTable } from '../host.ts';
import { hasCommandOutput } from '../marks.ts';
import { readOptions } from '../options.ts';

const HELP = /^(?:--help|--version|-\?)$/;
const POWER_VERBS =
  /^(?:poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|hybrid-sleep|suspend-then-hibernate|emergency|rescue|exit)$/;
const POWER_TARGETS = /^(?:poweroff|reboot|halt|kexec|shutdown|emergency|rescue|runlevel[06])(?:\.target)?$/;
const STOPS =
  /^(?:stop|restart|try-restart|reload-or-restart|disable|mask|kill|force-reload|condrestart|isolate|unload|bootout|remove|down|term|force-stop|force-restart)$/;
const FORCE = /^(?:-9|-KILL|-SIGKILL|-s9|-s(?:SIG)?KILL|--signal=(?:9|(?:SIG)?KILL)|-n9)$/i;
const FORCE_NAME = /^(?:9|(?:SIG)?KILL)$/i;

export const PROCESS_RULES: RuleTable = {
  shutdown: ({ args, host }) => {
    if (!args.some((arg) => HELP.test(arg) || arg === '-c')) host.scope.never = NEVER.power;
  },
  reboot: power,
  halt: power,
  poweroff: power,
  init: runlevel,
  telinit: runlevel,
  systemctl: ({ args, host }) => {
    const { operands } = readOptions(args, { short: 'pHMtnos', long: ['host', 'machine', 'type', 'signal'] });
    const [verb = '', ...units] = operands;
    const starts = /^(?:start|isolate|restart)$/.test(verb);
    if (POWER_VERBS.test(verb) || (starts && units.some((unit) => POWER_TARGETS.test(unit)))) {
      host.scope.never = NEVER.power;
    }
    if (STOPS.test(verb)) host.scope.report('stop/restart system service');
  },
  loginctl: ({ args, host }) => {
    if (args.some((arg) => POWER_VERBS.test(arg))) host.scope.never = NEVER.power;
  },
  'dbus-send': overBus,
  busctl: overBus,
  gdbus: overBus,
  service: serviceVerb,
  'rc-service': serviceVerb,
  'invoke-rc.d': serviceVerb,
  launchctl: serviceVerb,
  initctl: serviceVerb,
  supervisorctl: serviceVerb,
  sv: serviceVerb,
  rc: serviceVerb,
  kill,
  pkill: killByName,
  killall: killByName,
  killall5: ({ host }) => host.scope.report('kill all processes'),
  skill: killByName,
  fuser: ({ args, host }) => {
    if (args.some((arg) => /^-[a-z]*k/.test(arg))) host.scope.report('force kill processes');
  },
};

function power({ args, host }: Call): void {
  if (!args.some((arg) => HELP.test(arg) || arg === '-w' || arg === '--wtmp-only'))
    host.scope.never = NEVER.power;
}

function runlevel({ args, host }: Call): void {
  if (readOptions(args, { short: 't' }).operands.some((arg) => /^[06]$/.test(arg)))
    host.scope.never = NEVER.power;
}

function overBus({ args, host }: Call): void {
  if (args.some((arg) => /(?:^|\.)(?:PowerOff|Reboot|Halt|Suspend|Hibernate)$/.test(arg))) {
    host.scope.never = NEVER.power;
  }
}

function serviceVerb({ args, host }: Call): void {
  if (args.some((arg) => STOPS.test(arg))) host.scope.report('stop/restart system service');
}

/** `/etc/init.d/name stop`: the program is the service. */
export function initScript(path: string, args: string[], call: Call): void {
  if (/\/(?:init|rc)\.d\/[^/]+$/.test(path) && STOPS.test(args[0] ?? '')) {
    call.host.scope.report('stop/restart system service');
  }
}

function isForced(args: string[]): boolean {
  return args.some(
    (arg, i) => FORCE.test(arg) || (/^(?:-s|-n|--signal)$/.test(arg) && FORCE_NAME.test(args[i + 1] ?? '')),
  );
}

function kill({ args, host }: Call): void {
  const [first = ''] = args;
  // `kill -1 PID` sends signal 1; -1 as a target, after a signal or `--`, means every process.
  const targets = first.startsWith('-') && first !== '--' ? args.slice(1) : args;
  if (targets.some((arg) => arg === '-1' || arg === '1')) host.scope.report('kill all processes');
  if (args.length === 1 && first === '-1') host.scope.report('kill all processes');
  if (isForced(args) && args.some(hasCommandOutput)) host.scope.report('force kill processes');
}

function killByName({ args, host }: Call): void {
  if (isForced(args)) host.scope.report('force kill processes');
  const { operands, flags } = readOptions(
    args.filter((arg) => !/^-(?:\d+|SIG\w+|[A-Z]{3,})$/.test(arg)),
    {
      short: 'usGgPtUnoS',
      long: ['signal', 'user', 'euid', 'uid', 'group'],
    },
  );
  const everything = operands.some((pattern) => /^[.^]?[.*]?[*+]?$/.test(pattern));
  const wholeUser = flags.has('u') && operands.length === 0;
  if (everything || wholeUser) host.scope.report('kill all processes');
}
