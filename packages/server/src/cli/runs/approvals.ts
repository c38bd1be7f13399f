/** `talaria approvals` and `talaria grants …`: questions across runs, and what their answers allow. */
import type { Approval, Grant, Talaria } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { isMissingRoute } from '../client/missing-route.ts';
import { CommandError } from '../command-error.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { safeCommandLine, safeJson, safeLine } from '../text/safe-text.ts';
import { type Cell, table } from '../text/table.ts';
import { age } from '../text/time.ts';
import { timeLeft } from './approval-question.ts';

const ANSWERED_LIMIT = 20;

export async function listApprovals(args: Arguments<'approvals'>, terminal: Terminal): Promise<number> {
  const status = args.answered ? 'answered' : 'pending';
  const limit = args.limit ?? (args.answered ? ANSWERED_LIMIT : Number.POSITIVE_INFINITY);
  const approvals = await withApprovals(args, terminal, (client) =>
    first(limit, client.approvals.list({ status })),
  );
  if (args.json) terminal.out(safeJson(approvals, 2));
  else if (approvals.length > 0)
    terminal.out((args.answered ? answeredTable : pendingTable)(approvals, terminal));
  else terminal.err(args.answered ? 'Nothing was answered' : 'Nothing waits for an answer');
  return exitCodes.ok;
}

export async function listGrants(args: Arguments<'grantsList'>, terminal: Terminal): Promise<number> {
  const grants = await withApprovals(args, terminal, (client) =>
    first(Number.POSITIVE_INFINITY, client.grants.list()),
  );
  if (args.json) terminal.out(safeJson(grants, 2));
  else if (args.quiet) for (const { id } of grants) terminal.out(safeLine(id));
  else if (grants.length > 0) terminal.out(grantTable(grants, terminal));
  else terminal.err('Nothing is granted');
  return exitCodes.ok;
}

export async function revokeGrant(args: Arguments<'grantsRevoke'>, terminal: Terminal): Promise<number> {
  const { grant, answer } = await withApprovals(args, terminal, async (client) => {
    const found = await findGrant(client, args.grant);
    return { grant: found, answer: await client.grants.revoke(found.id) };
  });
  terminal.out(args.json ? safeJson(answer, 2) : `${safeLine(grant.id)} revoked: ${describeGrant(grant)}`);
  return exitCodes.ok;
}

/** Servers of the older dialect have neither. */
async function withApprovals<T>(
  args: { readonly server: string | undefined },
  terminal: Terminal,
  ask: (client: Talaria) => Promise<T>,
): Promise<T> {
  const client = connect(args, terminal);
  try {
    return await ask(client);
  } catch (error) {
    if (!isMissingRoute(error) || error.code === 'grant_not_found') throw error;
    throw new CommandError(`The server at ${client.baseUrl} does not list approvals and grants`);
  }
}

async function findGrant({ grants }: Talaria, given: string): Promise<Grant> {
  const prefix = given.startsWith('grt_') ? given : `grt_${given}`;
  const all = await first(Number.POSITIVE_INFINITY, grants.list());
  const found = all.filter(({ id }) => id.startsWith(prefix));
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new CommandError(`No grant begins with ${given}; talaria grants ls lists them`);
  throw new CommandError(
    `${found.length} grants begin with ${given}: ${found.map(({ id }) => id).join(', ')}`,
  );
}

async function first<T>(limit: number, items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) {
    found.push(item);
    if (found.length === limit) break;
  }
  return found;
}

function pendingTable(approvals: readonly Approval[], { stdout }: Terminal): string {
  const { style, columns } = stdout;
  const rows = approvals.map((approval): Cell[] => [
    { text: safeLine(approval.run.run_id) },
    { text: timeLeft(approval) ?? '-', paint: style.careful },
    { text: safeLine(approval.description) },
    { text: safeCommandLine(approval.command), paint: style.faint },
  ]);
  return table(['RUN', 'LEFT', 'WHY', 'COMMAND'], rows, columns);
}

function answeredTable(approvals: readonly Approval[], { stdout }: Terminal): string {
  const { style, columns } = stdout;
  const rows = approvals.map((approval): Cell[] => [
    { text: safeLine(approval.run.run_id) },
    { text: safeLine(approval.choice ?? ''), paint: approval.choice === 'deny' ? style.bad : style.good },
    { text: approval.answered_at === undefined ? '-' : age(approval.answered_at) },
    { text: safeLine(approval.answered_by ?? '-') },
    { text: safeLine(approval.description) },
    { text: safeCommandLine(approval.command), paint: style.faint },
  ]);
  return table(['RUN', 'ANSWER', 'AGE', 'BY', 'WHY', 'COMMAND'], rows, columns);
}

function grantTable(grants: readonly Grant[], { stdout }: Terminal): string {
  const rows = grants.map((grant): Cell[] => [
    { text: safeLine(grant.id) },
    { text: safeLine(grant.pattern_key) },
    { text: scopeOf(grant) },
    { text: age(grant.created_at) },
    { text: grant.last_used_at === null ? 'never' : age(grant.last_used_at) },
  ]);
  return table(['GRANT', 'ALLOWS', 'IN', 'AGE', 'LAST USED'], rows, stdout.columns);
}

function describeGrant(grant: Grant): string {
  return `${safeLine(grant.pattern_key)} (${scopeOf(grant)})`;
}

function scopeOf({ scope, session_id }: Grant): string {
  return scope === 'always' ? 'every session' : `session ${safeLine(session_id ?? '')}`;
}
