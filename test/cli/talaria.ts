/**
 * The command `talaria` against a server under test: in the test's own process; in a separate one, where the process is
 * what is tested; or in a terminal.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { main } from '../../packages/server/src/cli/main.ts';
import { TestTerminal } from '../../packages/server/src/cli/testing/test-terminal.ts';
import { bundledCommand } from '../support/bundled-command.ts';
import { type TmuxOptions, TmuxTerminal } from '../support/tmux.ts';

const { path, compileCache } = await bundledCommand();
export const BIN = path;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: string;
  readonly cwd?: string;
}

export interface SpawnOptions extends RunOptions {
  /** The bundle, or FROM_SOURCE of support/server-process.ts. */
  readonly program?: readonly string[];
}

/** The command line in this process, without a terminal. */
export async function talaria(
  url: string,
  argv: readonly string[],
  { env, input, cwd }: RunOptions = {},
): Promise<Ran> {
  const terminal = new TestTerminal(environmentFor(url, env), { input, workingDir: cwd });
  const code = await main(argv, terminal);
  return { code, stdout: terminal.stdout.written, stderr: terminal.stderr.written };
}

function environmentFor(url: string, env: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH!, HOME: '/nonexistent/home', TALARIA_BASE_URL: url, ...env };
}

/** The command line of another process, without a terminal. */
export function spawnTalaria(
  url: string,
  argv: readonly string[],
  { env, cwd, program: [node = process.execPath, ...program] = [process.execPath, BIN] }: SpawnOptions = {},
) {
  const child = spawn(node, [...program, ...argv], {
    env: { NODE_COMPILE_CACHE: compileCache, ...environmentFor(url, env) },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const ended = once(child, 'close').then(([code]): Ran => ({ code: code as number | null, ...output }));
  return { child, output, ended };
}

/** The same, until its end. */
export async function talariaProcess(
  url: string,
  argv: readonly string[],
  options: SpawnOptions = {},
): Promise<Ran> {
  const { child, ended } = spawnTalaria(url, argv, options);
  child.stdin.end(options.input ?? '');
  return ended;
}

export function talariaTerminal(
  url: string,
  argv: readonly string[],
  options: TmuxOptions = {},
): Promise<TmuxTerminal> {
  return TmuxTerminal.start([process.execPath, BIN, ...argv], {
    ...options,
    env: { NODE_COMPILE_CACHE: compileCache, TALARIA_BASE_URL: url, ...options.env },
  });
}
