/** `talaria migrate-store`: moves all stored data of a server into another database. */
import { resolve } from 'node:path';
import { type Database, databaseSecrets, describeDatabase } from '../../config/index.ts';
import { databaseUrl } from '../../config/kinds/network-kinds.ts';
import { type Moved, moveStore } from '../../journal/moving/move-store.ts';
import { MoveRefusedError } from '../../journal/moving/store-ends.ts';
import { Secrets } from '../../secrets/secrets.ts';
import { openSource, openTarget } from '../../start/moved-store.ts';
import { CommandError } from '../command-error.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes, signalExitCodes } from '../exit-codes.ts';
import { type StopSignal, stopSignals } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { localTime } from '../text/time.ts';
import { UsageError } from '../usage-error.ts';
import { MoveScreen } from './move-screen.ts';

export async function migrateStore(args: Arguments<'migrateStore'>, terminal: Terminal): Promise<number> {
  const from = readStore('--from', args.from, terminal);
  const to = readStore('--to', args.to, terminal);
  if (describeDatabase(from) === describeDatabase(to)) {
    throw new UsageError('--from and --to are the same database');
  }
  using signals = stopSignals();
  const stopping = new AbortController();
  void signals.first.then((signal) => stopping.abort(new Stopped(signal)));

  const moved = await move(from, to, { startOver: args['start-over'], stopping: stopping.signal, terminal });
  terminal.out(args.json ? safeJson(asJson(moved), 2) : asText(moved, to, terminal));
  return exitCodes.ok;
}

class Stopped extends Error {
  readonly signal: StopSignal;

  constructor(signal: StopSignal) {
    super('Interrupted');
    this.signal = signal;
  }
}

interface Move {
  startOver: boolean;
  stopping: AbortSignal;
  terminal: Terminal;
}

async function move(from: Database, to: Database, { startOver, stopping, terminal }: Move): Promise<Moved> {
  using screen = new MoveScreen(terminal.stderr);
  try {
    await using source = await naming('source', from, openSource(from));
    await using target = await naming('target', to, openTarget(to));
    return await moveStore(source, target, {
      startOver,
      signal: stopping,
      onProgress: (progress) => screen.show(progress),
    });
  } catch (error) {
    const secrets = new Secrets([...databaseSecrets(from), ...databaseSecrets(to)]);
    const message = secrets.mask((error as Error).message);
    if (error instanceof MoveRefusedError) throw new CommandError(message);
    const exitCode = error instanceof Stopped ? signalExitCodes[error.signal] : exitCodes.failed;
    // Until something was moved there is nothing to continue.
    const reached = screen.reached;
    throw new CommandError(
      reached === undefined ? message : `${message} at ${reached}; the same command continues from there`,
      exitCode,
    );
  }
}

/** The error of a database that does not answer does not name it. */
async function naming<T>(role: 'source' | 'target', database: Database, opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof MoveRefusedError) throw error;
    const { message, code } = error as NodeJS.ErrnoException;
    throw new Error(`The ${role} ${describeDatabase(database)} cannot be opened: ${message || code}`, {
      cause: error,
    });
  }
}

/** A URL as in TALARIA_DATABASE_URL, or the path of a file. Messages do not repeat it: it may contain a password. */
function readStore(
  flag: string,
  given: string | undefined,
  { homeDir, workingDir, env }: Terminal,
): Database {
  if (given === undefined) throw new UsageError(`expected ${flag} <store>`);
  if (!/^[a-z]\w+:/i.test(given)) return { kind: 'sqlite', path: resolve(workingDir, given) };
  const kind = databaseUrl();
  const read = kind.fromText(given, { homeDir, baseDir: workingDir, env });
  if ('value' in read) return read.value;
  const reason = read.refused === '' ? '' : `: ${read.refused}`;
  throw new UsageError(
    `${flag} does not name a store${reason}; expected the path of a file, or ${kind.allowed}`,
  );
}

function asJson({ tables, missingContents, verifiedBefore }: Moved): object {
  return {
    verified: true,
    verified_before: verifiedBefore?.toISOString() ?? null,
    rows: sum(tables.map(({ rows }) => rows)),
    missing_contents: missingContents,
    tables: tables.map(({ table, rows, replacedTexts, sha256 }) => ({
      table,
      rows,
      replaced_texts: replacedTexts,
      sha256,
    })),
  };
}

function asText(
  { tables, missingContents, verifiedBefore }: Moved,
  to: Database,
  { stdout }: Terminal,
): string {
  const { good } = stdout.style;
  const [setting, kept] =
    to.kind === 'sqlite'
      ? [`TALARIA_DATABASE_URL=${databaseUrl().format(to)}`, '']
      : ['TALARIA_DATABASE_URL', ', with the same TALARIA_DATA_DIR: files stay where they are'];
  const next = `Next: start the server with ${setting} for the new store${kept}. The old one is as it was.`;
  if (verifiedBefore !== undefined) {
    return `${good('✓')} All of it was moved and compared before, at ${localTime(verifiedBefore)}\n${safeLine(next)}`;
  }
  const rows = sum(tables.map((table) => table.rows));
  const replaced = sum(tables.map(({ replacedTexts }) => replacedTexts));
  return [
    `${good('✓')} ${rows} rows of ${tables.length} tables moved and compared: both stores hold the same`,
    ...(replaced === 0
      ? []
      : [
          `  ${replaced} texts had zero characters, which Postgres has no place for: U+FFFD stands there now`,
        ]),
    ...(missingContents === 0
      ? []
      : [`  ${missingContents} contents of files are in neither store: they were lost before`]),
    safeLine(next),
  ].join('\n');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
