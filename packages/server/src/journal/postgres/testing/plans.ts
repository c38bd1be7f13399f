/**
 * How the database ran each statement of a journal, reported by the database itself (auto_explain) to the sender. There
 * is no list, so no statement can be forgotten.
 */
import pg from 'pg';
import { vi } from 'vitest';

export interface Plan {
  sql: string;
  /** Every step of it. */
  nodes: PlanNode[];
  /** Pages of 8 KiB that were looked at. */
  pages: number;
}

export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/** From now on every new connection to the database gets its plans. */
export async function explainAll(url: string, planCacheMode: 'auto' | 'force_generic_plan'): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const name = new URL(url).pathname.slice(1);
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
    plan_cache_mode: planCacheMode,
  };
  for (const [setting, value] of Object.entries(settings)) {
    await client.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  }
  await client.end();
}

/** The plans of all statements on connections that `use` opens; `use` gets the plans so far. */
export async function plansOf(use: (soFar: readonly Plan[]) => Promise<void>): Promise<Plan[]> {
  const plans: Plan[] = [];
  const { connect } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, 'connect').mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    this.on('notice', ({ message }) => {
      const json = /^duration: .* plan:\n(.*)$/s.exec(message ?? '')?.[1];
      if (json !== undefined) plans.push(toPlan(json));
    });
    return Reflect.apply(connect, this, args);
  } as typeof connect);
  try {
    await use(plans);
  } finally {
    spy.mockRestore();
  }
  return plans;
}

function toPlan(json: string): Plan {
  const { 'Query Text': sql, Plan: root } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode };
  return {
    sql: inOneLine(sql),
    nodes: flatten(root),
    pages: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
  };
}

export function inOneLine(sql: string): string {
  return sql.replace(/\s+/g, ' ').trim();
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}
