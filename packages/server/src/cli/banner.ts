/**
 * What a server prints on the terminal when it listens: where, with what, what to be careful about, and what to type
 * next. The command can be copied unchanged; a key is named by its variable and never printed.
 */
import type { HardeningStatus } from '@talaria/sandbox';
import type { Config } from '../config/index.ts';
import { missingHardening } from '../start/checks/missing-hardening.ts';
import type { Running, WorkDescription } from '../start/server-handle.ts';
import { DEFAULT_URL } from './client/server-address.ts';

/** What a process does, and what it leaves to others. */
const ROLES: Readonly<Record<Config['role'], string | undefined>> = {
  all: undefined,
  http: 'http: serves clients; the runs wait for servers whose role is work or all',
  work: 'work: works on runs; clients are served by servers whose role is http or all',
};

/** `program` is how this command is called here. */
export function banner(
  running: Running,
  config: Config,
  configWarnings: readonly string[],
  program: string,
): string {
  const { url, version, role, store, storeWarnings, work } = running;
  const warnings = [
    ...configWarnings,
    ...storeWarnings,
    ...(work === undefined ? [] : workWarnings(work, config)),
  ];
  const parts = [
    ['role', ROLES[role]],
    ['model', work?.model],
    ['store', store],
    ['sandbox', work?.sandbox],
    ...hardeningLines(work?.hardening ?? []),
    ['limits', work?.limits],
    ['page', role !== 'work' && config.ui ? `${url}/ui/` : undefined],
  ].filter(([, what]) => what !== undefined);
  return [
    `Talaria ${version} listens on ${url}`,
    ...parts.map(([name = '', what]) => `  ${name.padEnd(8)} ${what}`),
    ...warnings.map((warning) => `Warning: ${warning}`),
    ...(role === 'work' ? [] : ['', ...nextCommand(url, config, program)]),
  ].join('\n');
}

function hardeningLines(hardening: readonly HardeningStatus[]): [string, string][] {
  return hardening.map(({ name, description }) => ['', `${name}: ${description}`]);
}

function workWarnings(
  { model, isolated, hardening, unenforcedLimits }: WorkDescription,
  config: Config,
): string[] {
  const warnings: string[] = [];
  if (/^demo\b/i.test(model)) {
    warnings.push(
      'the built-in demo model only runs the commands in backticks of a prompt; set OPENAI_BASE_URL or a ' +
        "provider's key, and TALARIA_MODEL, for a real one",
    );
  }
  if (!isolated) {
    const approvals =
      config.approvalsUnisolated === 'ask'
        ? 'every command asks for approval first'
        : 'and TALARIA_APPROVALS_UNISOLATED=skip lets them run without asking';
    warnings.push(`commands run without isolation, as the user of this server; ${approvals}`);
  }
  return [...warnings, ...missingHardening(hardening), ...unenforcedLimits];
}

function nextCommand(url: string, config: Config, program: string): string[] {
  const title = config.apiKeys.length > 0 ? 'Try it, with one of your keys in TALARIA_API_KEY:' : 'Try it:';
  const server = url === DEFAULT_URL ? '' : ` --server ${url}`;
  return [title, `  ${program} run${server} 'Run \`echo hello\` and tell me what it says'`];
}
