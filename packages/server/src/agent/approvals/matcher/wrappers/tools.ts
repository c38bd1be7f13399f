/**
 * Containers and project tools, whose command follows a subcommand such as `run` or `exec`.
 */
import type { Call, RuleTable } from '../host.ts';
import { readOptions } from '../options.ts';
import { asCode, innerArgv, runInner, type WrapperSpec } from './inner.ts';

const CONTAINER_LONG =
  'add-host annotation attach blkio-weight cap-add cap-drop cgroup-parent cgroupns cidfile cpu-period cpu-quota cpu-shares cpus cpuset-cpus detach-keys device dns dns-search domainname entrypoint env env-file expose gpus group-add health-cmd hostname init-path ip ipc isolation label label-file link log-driver log-opt mac-address memory memory-swap mount name net network network-alias oom-score-adj pid pids-limit platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs ulimit user userns uts volume volume-driver volumes-from workdir context namespace container kubeconfig filename pod-running-timeout index'.split(
    ' ',
  );
const CONTAINER: WrapperSpec = { flags: 'ditPTq', values: 'aceHhlmpuvwn', long: CONTAINER_LONG, skip: 1 };
const RUNNERS = /^(?:run|exec)$/;

export const TOOL_RULES: RuleTable = {
  fd: listAndRun,
  fdfind: listAndRun,
  docker: container,
  podman: container,
  nerdctl: container,
  'docker-compose': container,
  kubectl: container,
  oc: container,
  lxc: container,
  perf: (call) => {
    runInner(
      { ...call, args: call.args.slice(1) },
      { flags: 'adgirvTS', values: 'eoFpctCGjx', long: ['event', 'output'] },
    );
  },
  npx: (call) => runInner(call, { flags: 'yq', values: 'pc', long: ['package', 'call'] }),
  bwrap: scanForCommand,
  // Project tools whose `run` or `exec` starts a program by name.
  ...Object.fromEntries(
    'uv poetry pipenv pdm hatch rye bundle mise rtx asdf pnpm yarn npm bunx direnv conda mamba micromamba nix devbox op doppler chamber dotenv'
      .split(' ')
      .map((name) => [name, toolRun]),
  ),
};

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

/** bwrap's options take none to two values each, so the first few words that may be its command are tried. */
function scanForCommand({ args, host, input }: Call): void {
  const separator = args.indexOf('--');
  if (separator >= 0) host.run(args.slice(separator + 1), input);
  const starts = args.flatMap((arg, i) => (/^-|^\/(?!\S*bin\/)/.test(arg) ? [] : [i]));
  for (const start of starts.slice(0, 3)) host.run(args.slice(start), input);
}
