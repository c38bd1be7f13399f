/**
 * git: the operations that lose work, and the options through which git runs other commands.
 */
import type { Call, RuleTable } from '../host.ts';
import { hasAny, hasLong, readOptions } from '../options.ts';

export const GIT_RULES: RuleTable = { git };

const GLOBAL_VALUES = {
  short: 'Cc',
  long: ['git-dir', 'work-tree', 'namespace', 'exec-path'],
  stopAtOperand: true,
};
// Settings whose value git hands to a shell.
const RUNS_VALUE =
  /^(?:alias\.|core\.(?:sshcommand|editor|pager|fsmonitor|askpass|hookspath)|sequence\.editor|credential\.|diff\.|merge\.|filter\.|pager\.|gpg\.)/i;

function git(call: Call): void {
  const { args, host } = call;
  const global = readOptions(args, GLOBAL_VALUES);
  for (const setting of global.values.get('c') ?? []) runSetting(setting, call);
  const [command, ...rest] = global.operands;
  const options = readOptions(rest, { short: 'mu', long: ['message', 'repo', 'push-option'] });
  const { scope } = host;
  switch (command) {
    case 'reset':
      if (hasLong(options, 'hard', 1)) scope.report('git reset --hard (destroys uncommitted changes)');
      break;
    case 'push': {
      const push = readOptions(rest, { short: 'o', long: ['repo', 'push-option', 'receive-pack', 'exec'] });
      const forced =
        hasAny(push, ['f', 'mirror']) ||
        [...push.flags].some(
          (flag) => flag.length > 2 && (flag.startsWith('force') || 'force'.startsWith(flag)),
        ) ||
        push.operands.some((refspec) => refspec.startsWith('+'));
      if (forced) scope.report('git force push (rewrites remote history)');
      break;
    }
    case 'clean': {
      const clean = readOptions(rest, { short: 'e', long: ['exclude'] });
      const dry = clean.flags.has('n') || hasLong(clean, 'dry-run', 2);
      if (!dry && (clean.flags.has('f') || hasLong(clean, 'force', 1))) {
        scope.report('git clean with force (deletes untracked files)');
      }
      break;
    }
    case 'branch': {
      const deletes = options.flags.has('d') || hasLong(options, 'delete', 3);
      const forced = options.flags.has('f') || hasLong(options, 'force', 2);
      if (options.flags.has('D') || (deletes && forced)) scope.report('git branch force delete');
      break;
    }
    case 'config':
      for (let i = 0; i + 1 < options.operands.length; i++) {
        runSetting(`${options.operands[i]}=${options.operands[i + 1]}`, call);
      }
      break;
    case 'bisect':
      if (rest[0] === 'run') host.run(rest.slice(1));
      break;
    case 'submodule':
      if (rest[0] === 'foreach')
        host.code(
          rest
            .slice(1)
            .filter((arg) => !/^--?\w/.test(arg))
            .join(' '),
          'argument',
        );
      break;
    case 'rebase':
      for (const [name, values] of readOptions(rest, { short: 'x', long: ['exec'] }).values) {
        if (name === 'x' || name === 'exec') for (const value of values) host.code(value, 'argument');
      }
      break;
    case 'filter-branch':
      for (const [i, arg] of rest.entries())
        if (arg.endsWith('-filter')) host.code(rest[i + 1] ?? '', 'argument');
      break;
  }
}

function runSetting(setting: string, { host }: Call): void {
  const equals = setting.indexOf('=');
  if (equals < 0 || !RUNS_VALUE.test(setting)) return;
  const value = setting.slice(equals + 1);
  if (/^alias\./i.test(setting) && !value.startsWith('!')) host.run(['git', ...value.split(/\s+/)]);
  else host.code(value.replace(/^!/, ''), 'argument');
}
