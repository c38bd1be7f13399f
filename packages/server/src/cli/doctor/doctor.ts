/**
 * `talaria doctor`: checks what a server with these settings needs here. The checks run side by side and are printed in
 * order; if one fails, the command ends with 1. The output contains no secret. A signal ends it early; what the checks
 * have started is removed first.
 */
import { type Config, configSecrets } from '../../config/index.ts';
import { Secrets } from '../../secrets/secrets.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes, signalExitCodes } from '../exit-codes.ts';
import { loadOrExplain } from '../load-or-explain.ts';
import { stopSignals } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { BACKEND_CHECKS } from './backend-checks.ts';
import type { Check, CheckContext } from './check.ts';
import { checkDataDirectory } from './checks/data-directory.ts';
import { checkDatabase } from './checks/database.ts';
import { checkMcpServers } from './checks/mcp.ts';
import { checkModel } from './checks/model.ts';
import { checkNode } from './checks/node.ts';
import { checkPeers } from './checks/peers.ts';
import { checkPort } from './checks/port.ts';
import { checkPostgres } from './checks/postgres.ts';
import { checkRunDisk } from './checks/run-disk.ts';
import { checkSandbox } from './checks/sandbox.ts';
import type { Finding } from './finding.ts';

/** Checks that only matter for a server that works on runs. */
const WORK_CHECKS: readonly Check[] = [
  ...BACKEND_CHECKS,
  { name: 'sandbox', starts: true, check: checkSandbox },
  { name: 'model', check: checkModel },
  { name: 'mcp', check: checkMcpServers },
];

const checksOf = ({ role, database }: Config): readonly Check[] => [
  { name: 'node', check: () => checkNode() },
  { name: 'data', check: ({ dataDir }) => checkDataDirectory(dataDir) },
  {
    name: 'database',
    check: () => (database.kind === 'sqlite' ? checkDatabase(database.path) : checkPostgres(database)),
  },
  ...(database.kind === 'postgres' ? [{ name: 'peers', check: () => checkPeers(database.url) }] : []),
  ...(role === 'http' ? [] : [{ name: 'disk', check: checkRunDisk }, ...WORK_CHECKS]),
  { name: 'port', check: checkPort },
];

const NAME_COLUMNS = 11;

export async function doctor({ json, settings }: Arguments<'doctor'>, terminal: Terminal): Promise<number> {
  const loaded = loadOrExplain(settings, terminal);
  if (loaded === undefined) return exitCodes.usage;
  const { config, warnings } = loaded;
  const { mask } = new Secrets(configSecrets(config));

  using signals = stopSignals();
  const interrupted = new AbortController();
  const pending = checksOf(config).map(({ name, starts, check }) => {
    const found = run(check, config, { interrupted: interrupted.signal, env: terminal.env });
    return { starts, finding: found.then((finding) => ({ name, ...masked(finding, mask) })) };
  });
  const findings = [];
  if (!json) for (const warning of warnings) terminal.err(`Warning: ${warning}`);
  for (const { finding } of pending) {
    const found = await Promise.race([finding, signals.first]);
    if (typeof found === 'string') {
      terminal.err(`${found}: removing what was started; a second signal stops at once`);
      interrupted.abort();
      const starting = pending.filter(({ starts }) => starts === true);
      await Promise.all(starting.map((each) => each.finding));
      return signalExitCodes[found];
    }
    findings.push(found);
    if (!json) terminal.out(asText(found, terminal));
  }
  const failed = findings.filter(({ status }) => status === 'failed');
  if (json) terminal.out(safeJson({ ok: failed.length === 0, warnings, checks: findings.map(asJson) }, 2));
  else terminal.out(summary(findings));
  return failed.length === 0 ? exitCodes.ok : exitCodes.failed;
}

type NamedFinding = Finding & { readonly name: string };

/** A check that throws has found something, too. */
async function run(check: Check['check'], config: Config, context: CheckContext): Promise<Finding> {
  try {
    return await check(config, context);
  } catch (error) {
    return { status: 'failed', detail: `could not be checked: ${(error as Error).message}` };
  }
}

function masked(finding: Finding, mask: (text: string) => string): Finding {
  const { detail, facts, fix } = finding;
  return {
    ...finding,
    detail: mask(detail),
    ...(facts === undefined ? {} : { facts: facts.map(mask) }),
    ...(fix === undefined ? {} : { fix: mask(fix) }),
  };
}

function asText({ name, status, detail, facts = [], fix }: NamedFinding, { stdout }: Terminal): string {
  const { good, careful, bad, faint, strong } = stdout.style;
  const mark = { ok: good('✓'), warning: careful('!'), failed: bad('✗') }[status];
  const indent = ' '.repeat(NAME_COLUMNS + 2);
  return [
    `${mark} ${strong(name.padEnd(NAME_COLUMNS))}${safeLine(detail)}`,
    ...facts.map((fact) => faint(`${indent}${safeLine(fact)}`)),
    ...(fix === undefined ? [] : [`${indent}${status === 'ok' ? '' : '→ '}${safeLine(fix)}`]),
  ].join('\n');
}

function asJson({ name, status, detail, facts = [], fix = '' }: NamedFinding): object {
  const shown = fix === '' ? null : fix;
  // Earlier versions called it `mend`. The next version drops that name.
  return { name, status, detail, facts, fix: shown, mend: shown };
}

function summary(findings: readonly Finding[]): string {
  const count = (wanted: Finding['status']): number =>
    findings.filter(({ status }) => status === wanted).length;
  const next = findings.find((finding) => finding.next !== undefined)?.next ?? 'talaria serve';
  const failed = count('failed');
  const warnings = count('warning');
  if (failed + warnings === 0) return `\nEverything is as it should be; next: ${next}`;
  const parts = [
    ...(failed === 0 ? [] : [`${failed} to fix`]),
    ...(warnings === 0 ? [] : [`${warnings} to know about`]),
  ];
  return `\n${parts.join(', ')}${failed === 0 ? `; next: ${next}` : ''}`;
}
