/**
 * Programs that take a command line as text: as an option's value, or as words they join.
 */
import type { Call, RuleTable } from '../host.ts';
import { readOptions } from '../options.ts';
import { fromInput } from '../rules/shells.ts';
import { asCode, innerArgv, runInner } from './inner.ts';

export const TEXT_RULES: RuleTable = {
  ssh,
  autossh: ssh,
  mosh: ssh,
  watch: ({ args, host }) => {
    const { argv } = innerArgv(args, { flags: 'bcdegtwx', values: 'n', long: ['interval'] }, false);
    host.code(asCode(argv), 'argument');
  },
  flock: (call) => {
    const { args, host } = call;
    const spec = { flags: 'esnuoFx', values: 'wE', long: ['timeout', 'wait'], skip: 1 };
    const { argv } = innerArgv(args, spec, false);
    if (/^(?:-c|--command)$/.test(argv[0] ?? '')) host.code(argv[1] ?? '', 'argument');
    else runInner(call, spec);
  },
  script: ({ args, host }) => textOption(args, ['c', 'command'], host),
  'nix-shell': ({ args, host }) => textOption(args, ['run', 'command'], host),
  tmux: multiplexer,
  screen: multiplexer,
  gdb: (call) => {
    const at = call.args.indexOf('--args');
    if (at >= 0) call.host.run(call.args.slice(at + 1));
  },
  man: ({ args, host }) => commandOption(args, /^(?:-P|--pager=?)/, host),
  rsync: ({ args, host }) => commandOption(args, /^(?:-[a-zA-Z]*e|--rsh=?)/, host),
  zip: ({ args, host }) => commandOption(args, /^-TT/, host),
  less: ({ args, host }) => commandOption(args, /^\+!/, host),
  tar: tarRuns,
  coreutils: ({ args, host }) => {
    const program = /^--coreutils-prog(?:-shebang)?=(.*)$/.exec(args[0] ?? '');
    if (program) host.run([program[1]!, ...args.slice(1)]);
  },
};

const SSH = { short: 'BbcDEeFIiJLlmOoPpQRSWw', stopAtOperand: true };

/** ssh joins its words and the far shell splits them again; without words that shell reads our input. */
export function ssh({ args, host, input }: Call): void {
  const options = readOptions(args, SSH);
  for (const setting of options.values.get('o') ?? []) {
    const command = /^\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)[\s=]+(.*)$/is.exec(setting);
    if (command) host.code(command[1]!, 'argument');
  }
  // ssh takes its options after the host too.
  const words = readOptions(options.operands.slice(1), SSH).operands;
  if (words.length > 0) host.code(asCode(words), 'argument', [], input);
  else if (!options.flags.has('N')) fromInput(input, host);
}

function commandOption(args: string[], option: RegExp, host: Call['host']): void {
  for (const [i, arg] of args.entries()) {
    const found = option.exec(arg)?.[0];
    if (found) host.code(arg.slice(found.length) || (args[i + 1] ?? ''), 'argument');
  }
}

function textOption(args: string[], names: string[], host: Call['host']): void {
  const { values } = readOptions(args, { short: 'cIOTEmoB', long: ['run', 'command'] });
  for (const name of names) for (const text of values.get(name) ?? []) host.code(text, 'argument');
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
