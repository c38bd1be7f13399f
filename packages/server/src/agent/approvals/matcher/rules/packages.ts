/**
 * Removing installed packages, and stopping containers. Both are verbs of a program with subcommands.
 */
import type { Call, RuleTable } from '../host.ts';
import { hasAny, readOptions } from '../options.ts';

const PACKAGE = 'package uninstall';

/** Programs whose first operand is a verb, and the verbs that remove. */
const REMOVING_VERBS: Record<string, RegExp> = {
  apt: /^(?:remove|purge|autoremove|autopurge)$/,
  'apt-get': /^(?:remove|purge|autoremove|autopurge)$/,
  aptitude: /^(?:remove|purge)$/,
  yum: /^(?:remove|erase|autoremove)$/,
  dnf: /^(?:remove|erase|autoremove)$/,
  microdnf: /^(?:remove|erase)$/,
  zypper: /^(?:remove|rm)$/,
  apk: /^del$/,
  brew: /^(?:uninstall|remove|rm|autoremove)$/,
  port: /^uninstall$/,
  snap: /^remove$/,
  flatpak: /^(?:uninstall|remove)$/,
  pip: /^uninstall$/,
  pipx: /^uninstall(?:-all)?$/,
  npm: /^(?:uninstall|unlink|remove|rm|r|un)$/,
  pnpm: /^(?:remove|rm|uninstall|un)$/,
  yarn: /^remove$/,
  bun: /^(?:remove|rm)$/,
  gem: /^uninstall$/,
  cargo: /^(?:uninstall|remove|rm)$/,
  conda: /^(?:remove|uninstall)$/,
  mamba: /^(?:remove|uninstall)$/,
  micromamba: /^(?:remove|uninstall)$/,
  poetry: /^remove$/,
  composer: /^remove$/,
  opam: /^(?:remove|uninstall)$/,
  choco: /^uninstall$/,
  winget: /^uninstall$/,
  xbps: /^remove$/,
  mas: /^uninstall$/,
};

const VALUE_OPTIONS = {
  short: 'ocDtn',
  long: ['prefix', 'option', 'config-file', 'target-release', 'dir', 'cwd'],
};

export const PACKAGE_RULES: RuleTable = {
  ...Object.fromEntries(
    Object.entries(REMOVING_VERBS).map(([name, verbs]) => [
      name,
      ({ args, host }: Call) => {
        // Both readings of an option before the verb: with a value and without.
        const verb = readOptions(args, VALUE_OPTIONS).operands[0] ?? '';
        if (verbs.test(verb) || verbs.test(readOptions(args).operands[0] ?? '')) host.scope.report(PACKAGE);
        if (name === 'yarn' && verb === 'global' && args.includes('remove')) host.scope.report(PACKAGE);
      },
    ]),
  ),
  uv: ({ args, host }) => {
    const [first, second] = readOptions(args).operands;
    const removes = first === 'remove' || ((first === 'pip' || first === 'tool') && second === 'uninstall');
    if (removes) host.scope.report(PACKAGE);
  },
  dpkg: ({ args, host }) => {
    if (hasAny(readOptions(args), ['r', 'P', 'remove', 'purge'])) host.scope.report(PACKAGE);
  },
  rpm: ({ args, host }) => {
    if (args.some((arg) => /^-e|^-[a-z]*e$|^--erase$/.test(arg))) host.scope.report(PACKAGE);
  },
  pacman: arch,
  yay: arch,
  paru: arch,
  emerge: ({ args, host }) => {
    if (args.some((arg) => /^(?:-C|-c|--unmerge|--depclean)$/.test(arg))) host.scope.report(PACKAGE);
  },
  'nix-env': ({ args, host }) => {
    if (hasAny(readOptions(args), ['e', 'uninstall'])) host.scope.report(PACKAGE);
  },
  pkg: ({ args, host }) => {
    if (/^(?:delete|remove|uninstall|autoremove)$/.test(readOptions(args).operands[0] ?? ''))
      host.scope.report(PACKAGE);
  },
  docker,
  podman: docker,
  nerdctl: docker,
  'docker-compose': ({ args, host }) => compose(args, host),
  'podman-compose': ({ args, host }) => compose(args, host),
};

function arch({ args, host }: Call): void {
  if (args.some((arg) => /^-R|^--remove$/.test(arg))) host.scope.report(PACKAGE);
}

const DOCKER_GLOBAL = { short: 'Hcl', long: ['host', 'context', 'config', 'log-level'], stopAtOperand: true };
const COMPOSE_GLOBAL = {
  short: 'fp',
  long: ['file', 'project-name', 'profile', 'env-file', 'project-directory', 'ansi', 'parallel'],
  stopAtOperand: true,
};

function docker({ args, host }: Call): void {
  let [verb, ...rest] = readOptions(args, DOCKER_GLOBAL).operands;
  if (verb === 'container') [verb, ...rest] = rest;
  if (verb === 'compose') compose(rest, host);
  const forcedRemoval = verb === 'rm' && hasAny(readOptions(rest), ['f', 'force']);
  if (verb === 'stop' || verb === 'kill' || forcedRemoval) host.scope.report('docker stop/kill/compose down');
}

function compose(args: string[], host: Call['host']): void {
  const verb = readOptions(args, COMPOSE_GLOBAL).operands[0] ?? '';
  if (/^(?:down|stop|kill)$/.test(verb)) host.scope.report('docker stop/kill/compose down');
}
