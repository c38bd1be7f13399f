/**
 * Wrappers whose command is not simply the words after the options: it is a text for a shell, it is
 * built from standard input, or it follows a subcommand.
 */
import type { Call, RuleTable } from './host.ts';
import { hasCommandOutput, OPAQUE, taintOf } from './marks.ts';
import { readOptions } from './options.ts';
import { SHELL_NAMES } from './rules/shells.ts';
import { asCode, innerArgv, runInner, ssh, WRAPPER_RULES, type WrapperSpec } from './wrappers.ts';

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
const CONTAINER_LONG =
  'add-host annotation attach blkio-weight cap-add cap-drop cgroup-parent cgroupns cidfile cpu-period cpu-quota cpu-shares cpus cpuset-cpus detach-keys device dns dns-search domainname entrypoint env env-file expose gpus group-add health-cmd hostname init-path ip ipc isolation label label-file link log-driver log-opt mac-address memory memory-swap mount name net network network-alias oom-score-adj pid pids-limit platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs ulimit user userns uts volume volume-driver volumes-from workdir context namespace container kubeconfig filename pod-running-timeout index'.split(
    ' ',
  );
const CONTAINER: WrapperSpec = { flags: 'ditPTq', values: 'aceHhlmpuvwn', long: CONTAINER_LONG, skip: 1 };
const RUNNERS = /^(?:run|exec)$/;

export const SPECIAL_WRAPPER_RULES: RuleTable = {
  ...WRAPPER_RULES,
  ssh,
  autossh: ssh,
  mosh: ssh,
  sudo,
  env: envCommand,
  genv: envCommand,
  command: (call) => {
    if (!call.args.some((arg) => /^-[pvV]*[vV]/.test(arg))) runInner(call, { flags: 'p' });
  },
  doas: (call) => {
    if (call.args.includes('-s')) call.host.scope.report('sudo with stdin, askpass or shell flag');
    WRAPPER_RULES.doas!(call);
  },
  su: switchUser,
  runuser: switchUser,
  xargs,
  gxargs: xargs,
  parallel,
  watch: ({ args, host }) => {
    const { argv } = innerArgv(args, { flags: 'bcdegtwx', values: 'n', long: ['interval'] }, false);
    host.code(asCode(argv), 'argument');
  },
  flock: (call) => {
    const { args, host } = call;
    const at = args.findIndex((arg) => /^(?:-c|--command)$/.test(arg));
    if (at >= 0) host.code(args[at + 1] ?? '', 'argument');
    else runInner(call, { flags: 'esnuoFx', values: 'wE', long: ['timeout', 'wait'], skip: 1 });
  },
  script: ({ args, host }) => textOption(args, ['c', 'command'], host),
  'nix-shell': ({ args, host }) => textOption(args, ['run', 'command'], host),
  tmux: multiplexer,
  screen: multiplexer,
  gdb: (call) => {
    const at = call.args.indexOf('--args');
    if (at >= 0) call.host.run(call.args.slice(at + 1));
  },
  fd: listAndRun,
  fdfind: listAndRun,
  docker: container,
  podman: container,
  nerdctl: container,
  'docker-compose': container,
  kubectl: container,
  oc: container,
  lxc: container,
  // Project tools whose `run` or `exec` starts a program by name.
  ...Object.fromEntries(
    'uv poetry pipenv pdm hatch rye bundle mise rtx asdf pnpm yarn npm bunx direnv conda mamba micromamba nix devbox op doppler chamber dotenv'
      .split(' ')
      .map((name) => [name, toolRun]),
  ),
  npx: (call) => runInner(call, { flags: 'yq', values: 'pc', long: ['package', 'call'] }),
  tar: tarRuns,
  bwrap: scanForCommand,
  coreutils: ({ args, host }) => {
    const program = /^--coreutils-prog(?:-shebang)?=(.*)$/.exec(args[0] ?? '');
    if (program) host.run([program[1]!, ...args.slice(1)]);
  },
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

function textOption(args: string[], names: string[], host: Call['host']): void {
  const { values } = readOptions(args, { short: 'cIOTEmoB', long: ['run', 'command'] });
  for (const name of names) for (const text of values.get(name) ?? []) host.code(text, 'argument');
}

const XARGS = {
  short: 'IEdLnPsaJR',
  long: ['replace', 'delimiter', 'max-lines', 'max-args', 'max-procs', 'arg-file'],
  stopAtOperand: true,
};

/** The words that standard input adds are known when the line itself prints them. */
function xargs({ args, host, input }: Call): void {
  const { scope } = host;
  const options = readOptions(args, XARGS);
  const command = options.operands.length > 0 ? options.operands : ['echo'];
  const text = options.values.has('a') || options.values.has('arg-file') ? OPAQUE : (input?.text ?? OPAQUE);
  const placeholder =
    options.values.get('I')?.[0] ??
    options.values.get('replace')?.[0] ??
    (options.flags.has('i') ? '{}' : undefined);
  const before = scope.bulkDelete;
  scope.bulkDelete = 'xargs with rm';
  if (placeholder) {
    const lines = hasCommandOutput(text)
      ? [taintOf(text)]
      : text.split('\n').filter((line) => line.trim() !== '');
    for (const line of lines.slice(0, 100)) {
      host.run(
        command.map((word) =>
          word.includes(placeholder) ? word.split(placeholder).join(line.trim()) : word,
        ),
      );
    }
  } else {
    host.run([
      ...command,
      ...text
        .split(/[\s\0]+/)
        .filter((word) => word !== '')
        .map((word) => word.replace(/['"\\]/g, '')),
    ]);
  }
  scope.bulkDelete = before;
}

/** GNU parallel: a command text before `:::`, its arguments after it or on standard input. */
function parallel({ args, host, input }: Call): void {
  const { scope } = host;
  const at = args.findIndex((arg) => /^:::[:+]*$/.test(arg));
  const head = innerArgv(
    at < 0 ? args : args.slice(0, at),
    { flags: 'kquvmX0', values: 'jIaSNnLPd', long: ['jobs', 'colsep'] },
    false,
  ).argv;
  const items = at < 0 ? (input?.text ?? OPAQUE).split('\n').filter(Boolean) : args.slice(at + 1);
  const before = scope.bulkDelete;
  scope.bulkDelete = 'xargs with rm';
  for (const item of items.slice(0, 100)) {
    const text = asCode(head);
    host.code(text.includes('{}') ? text.split('{}').join(item) : `${text} ${item}`, 'argument');
  }
  scope.bulkDelete = before;
}

/** `tmux new-session 'text'` and `send-keys`, `screen -dm cmd`. */
function multiplexer({ args, name, host }: Call): void {
  if (name === 'screen') {
    const { argv } = innerArgv(args, { flags: 'dDmRrxUALiOq', values: 'ScesTthp' }, false);
    host.run(argv);
    return;
  }
  const at = args.findIndex((arg) =>
    /^(?:new(?:-session)?|neww|new-window|split-window|splitw|respawn-pane|send-keys|send|run-shell|run|if-shell|popup|display-popup|pipe-pane)$/.test(
      arg,
    ),
  );
  if (at < 0) return;
  const { operands } = readOptions(args.slice(at + 1), { short: 'cnstFxyeltp' });
  const keys = operands.filter((word) => !/^(?:Enter|C-m|Space|C-[a-z])$/.test(word));
  host.code(asCode(keys), 'argument');
  for (const word of keys) if (/\s/.test(word)) host.code(word, 'argument');
}

function listAndRun({ args, host }: Call): void {
  const at = args.findIndex((arg) => /^(?:-x|-X|--exec|--exec-batch)$/.test(arg));
  if (at < 0) return;
  const before = host.scope.bulkDelete;
  host.scope.bulkDelete = 'find -exec rm';
  host.run(args.slice(at + 1));
  host.scope.bulkDelete = before;
}

/** `docker run image cmd`, `docker exec c cmd`, `compose run service cmd`, `kubectl exec pod -- cmd`. */
function container(call: Call): void {
  const { args, host, input } = call;
  const at = args.findIndex((arg) => RUNNERS.test(arg));
  if (at < 0) return;
  const rest = args.slice(at + 1);
  const separator = rest.indexOf('--');
  if (/^(?:kubectl|oc|lxc)$/.test(call.name) && separator >= 0) {
    host.run(rest.slice(separator + 1), input);
    return;
  }
  const { argv } = innerArgv(rest, CONTAINER, false);
  const options = readOptions(rest.slice(0, rest.length - argv.length), {
    short: CONTAINER.values!,
    long: CONTAINER_LONG,
  });
  const [entrypoint] = options.values.get('entrypoint') ?? [];
  if (entrypoint) host.run([entrypoint, ...argv], input);
  else runInner({ ...call, args: rest }, CONTAINER);
}

function toolRun(call: Call): void {
  const { args, host, input, name } = call;
  const at = args.findIndex((arg) => /^(?:run|exec|x|dlx|shell|develop)$/.test(arg));
  if (at < 0) return;
  if (/^(?:npm|yarn|pnpm)$/.test(name) && args[at] === 'run') return; // a script of package.json
  const rest = args.slice(at + 1);
  const separator = rest.indexOf('--');
  if (separator >= 0) host.run(rest.slice(separator + 1), input);
  const command = rest.findIndex((arg) => arg === '-c' || arg === '--command' || arg === '--run');
  if (command >= 0) host.code(asCode(rest.slice(command + 1, command + 2)), 'argument');
  runInner(
    { ...call, args: rest },
    {
      values: 'npm',
      long: ['with', 'from', 'name', 'prefix', 'python', 'directory', 'project'],
      skip: name === 'direnv' ? 1 : 0,
    },
  );
}

function tarRuns({ args, host }: Call): void {
  for (const [i, arg] of args.entries()) {
    const attached =
      /^--(?:to-command|use-compress-program|checkpoint-action|rsh-command|info-script|new-volume-script)=(?:exec=)?([\s\S]*)$/.exec(
        arg,
      );
    if (attached) host.code(attached[1]!, 'argument');
    else if (/^(?:-I|-F|--to-command|--use-compress-program|--checkpoint-action)$/.test(arg)) {
      host.code((args[i + 1] ?? '').replace(/^exec=/, ''), 'argument');
    }
  }
}

/** bwrap's options take none to two values each, so the first few words that may be its command are tried. */
function scanForCommand({ args, host, input }: Call): void {
  const separator = args.indexOf('--');
  if (separator >= 0) host.run(args.slice(separator + 1), input);
  const starts = args.flatMap((arg, i) => (/^-|^\/(?!\S*bin\/)/.test(arg) ? [] : [i]));
  for (const start of starts.slice(0, 3)) host.run(args.slice(start), input);
}
