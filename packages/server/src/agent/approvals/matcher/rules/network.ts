/**
 * Programs that connect a shell to the network: the far side then decides what runs.
 */
import type { Call, RuleTable } from '../host.ts';

const RUNS = /^(?:-[a-zA-Z0-9]*[ec][a-zA-Z]*|--exec|--sh-exec|--lua-exec|--exec=.*|--sh-exec=.*)$/;

export const NETWORK_RULES: RuleTable = {
  nc: netcat,
  ncat: netcat,
  netcat,
  socat: ({ args, host }) => {
    if (args.some((arg) => /^(?:exec|system|shell):/i.test(arg)))
      host.scope.report('pipe remote content to shell');
  },
};

function netcat({ args, host }: Call): void {
  const at = args.findIndex((arg) => RUNS.test(arg));
  if (at < 0) return;
  host.scope.report('pipe remote content to shell');
  host.code(args[at + 1] ?? '', 'argument');
}
