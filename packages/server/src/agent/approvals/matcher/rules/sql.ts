/**
 * SQL given to a database client as an argument or on its standard input.
 */
import type { Call, RuleTable } from '../host.ts';
import { examineSql } from '../sql-text.ts';

const CLIENTS =
  'psql mysql mariadb sqlite sqlite3 clickhouse clickhouse-client clickhouse-local duckdb sqlcmd bq sqlplus cockroach usql pgcli mycli litecli isql osql tsql mssql-cli snowsql trino presto hive beeline spark-sql impala-shell cqlsh db2 turso wrangler prisma rqlite vsql exasol monetdb mclient virtuoso';

export const SQL_RULES: RuleTable = {
  ...Object.fromEntries(CLIENTS.split(' ').map((name) => [name, client])),
  dropdb: ({ args, host }) => {
    if (!args.some((arg) => /^--(?:help|version)$/.test(arg))) host.scope.report('SQL DROP');
  },
  dropuser: ({ host }) => host.scope.report('SQL DROP'),
  mysqladmin: ({ args, host }) => {
    if (args.includes('drop')) host.scope.report('SQL DROP');
  },
};

function client({ args, input, host }: Call): void {
  for (const arg of args) {
    // `--execute=DROP …` and `-eDROP …`; as SQL the dashes would start a comment.
    const sql = /^(?:--[\w-]+=|-[A-Za-z])([\s\S]+)$/.exec(arg)?.[1] ?? arg;
    examineSql(sql, host.scope);
    // Clients run shell commands through `.shell`, `.system` and `\!`.
    const shell = /^[ \t]*(?:\.(?:shell|system)\s|\\!|system\s|\\o[ \t]*\|)(.*)$/m.exec(arg);
    if (shell) host.code(shell[1]!, 'argument');
  }
  // A statement may be spread over words; only the first keyword matters then.
  if (args.length > 1 && args.length < 1_000)
    examineSql(args.filter((arg) => !arg.startsWith('-')).join(' '), host.scope, true);
  if (!input) return;
  examineSql(input.text, host.scope);
  for (const shell of input.text.matchAll(/^[ \t]*(?:\.(?:shell|system)\s|\\!|system\s)(.*)$/gm)) {
    host.code(shell[1]!, 'argument');
  }
}
