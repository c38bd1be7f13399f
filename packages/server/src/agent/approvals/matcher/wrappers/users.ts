/**
 * Running as another user or in another environment.
 */
import type { Call, RuleTable } from '../host.ts';
import { readOptions } from '../options.ts';
import { onlyLooksUp } from '../output.ts';
import { SHELL_NAMES } from '../rules/shells.ts';
import { asCode, innerArgv, runInner, type WrapperSpec } from './inner.ts';

const SUDO: WrapperSpec = {
  flags: 'AbBEeHiKklnPSsVv',
  values: 'CDghpRrTtUua',
  long: ['user', 'group', 'host', 'prompt', 'chdir', 'chroot', 'close-from', 'role', 'type'],
  assigns: true,
};
const ENV_SPEC: WrapperSpec = {
  flags: 'i0v',
  values: 'uC',
  long: ['unset', 'chdir', 'block-signal'],
  assigns: true,
};

export const USER_RULES: RuleTable = {
  sudo,
  env: envCommand,
  genv: envCommand,
  command: (call) => {
    if (!onlyLooksUp(call.args)) runInner(call, { flags: 'p' });
  },
  doas: (call) => {
    if (call.args[0] === '-s') call.host.scope.report('sudo with stdin, askpass or shell flag');
    runInner(call, { flags: 'Lns', values: 'Cu' });
  },
  su: switchUser,
  runuser: switchUser,
};

function sudo(call: Call): void {
  const { args, host, input } = call;
  const { argv } = innerArgv(args, SUDO, false);
  const own = readOptions(args.slice(0, args.length - argv.length), { short: SUDO.values! });
  const shell = ['s', 'i', 'shell', 'login'].some((flag) => own.flags.has(flag));
  const asks = ['S', 'A', 'stdin', 'askpass'].some((flag) => own.flags.has(flag));
  const name = argv[0]?.split('/').at(-1) ?? '';
  const opensShell = argv.length === 1 && SHELL_NAMES.has(name) && input === undefined;
  if (shell || asks || opensShell || name === 'su') {
    host.scope.report('sudo with stdin, askpass or shell flag');
  }
  if (own.flags.has('e') || own.flags.has('edit')) host.run(['ed', ...argv]);
  else if (shell && argv.length > 0) host.code(asCode(argv), 'argument', [], input);
  else if (shell) host.run(['sh'], input);
  else runInner(call, SUDO);
}

function envCommand(call: Call): void {
  const { args, host, input } = call;
  for (const [i, arg] of args.entries()) {
    if (!/^-|^[A-Za-z_]\w*=/.test(arg) && !/^-[uC]$/.test(args[i - 1] ?? '')) break;
    const attached = /^(?:-[iv0]*S|--split-string=)([\s\S]+)$/.exec(arg)?.[1];
    const text = attached ?? (/^(?:-[iv0]*S|--split-string)$/.test(arg) ? args[i + 1] : undefined);
    if (text === undefined) continue;
    const rest = args.slice(i + (attached === undefined ? 2 : 1));
    // The split text is itself a list of words for env: options, assignments, then the command.
    host.code(`env ${text} ${asCode(rest)}`, 'argument', [], input);
    return;
  }
  runInner(call, ENV_SPEC);
}

function switchUser(call: Call): void {
  const { args, host, input } = call;
  const options = readOptions(args, { short: 'csgGuTwC', long: ['command', 'shell', 'group', 'user'] });
  const texts = ['c', 'command', 'C', 'session-command'].flatMap((name) => options.values.get(name) ?? []);
  for (const text of texts) host.code(text, 'argument', [], input);
  if (call.name === 'runuser' && texts.length === 0) {
    host.run(options.flags.has('u') ? options.operands : options.operands.slice(1), input);
  } else if (texts.length === 0 && input) {
    host.run(['sh'], input);
  }
}
