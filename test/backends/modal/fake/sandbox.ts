/**
 * A sandbox of the fake: real processes, in namespaces of their own.
 *
 *   running ─its command ends→ ended, with the exit code of that
 *   running ─its lifetime is over, or it is terminated→ ended, with everything in it killed
 */
import type { ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { firstProcessOf, runInNamespacesOf, startInNamespaces } from './namespaces.ts';
import { Output } from './output.ts';

/** As Modal numbers them. */
export const STATUS = { success: 1, failure: 2, terminated: 3, timeout: 4 } as const;

export interface Result {
  status: number;
  exitcode: number;
}

export interface Definition {
  entrypointArgs: string[];
  imageId: string;
  timeoutSecs: number;
  name: string;
  resources?: { memoryMb: number; milliCpu: number; memoryMbMax: number; milliCpuMax: number };
  schedulerPlacement?: { regions: string[] };
  networkAccess?: { networkAccessType: number };
}

/** Of `NetworkAccess`. */
export const NETWORK_BLOCKED = 2;

interface Exec {
  child: ChildProcess;
  stdout: Output;
  stderr: Output;
  /** Bytes of its input that it was given. */
  written: number;
}

export interface SandboxParts {
  id: string;
  taskId: string;
  appId: string;
  createdAt: number;
  definition: Definition;
  tags: Readonly<Record<string, string>>;
  /** Has the image's files; removed with it. */
  dir: string;
  without: readonly string[];
}

export class FakeSandbox {
  readonly parts: SandboxParts;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly #child: ChildProcess;
  readonly #first: number | undefined;
  readonly #execs = new Map<string, Exec>();
  readonly #ended = Promise.withResolvers<Result>();
  readonly #lifetime: NodeJS.Timeout;
  result: Result | undefined;

  private constructor(parts: SandboxParts, child: ChildProcess, first: number | undefined) {
    this.parts = parts;
    this.#child = child;
    this.#first = first;
    this.stdout = new Output(child.stdout!);
    this.stderr = new Output(child.stderr!);
    this.#lifetime = setTimeout(() => this.end(STATUS.timeout), parts.definition.timeoutSecs * 1000).unref();
    if (child.exitCode !== null) this.#end(child.exitCode);
    child.once('exit', (code) => this.#end(code ?? 137));
  }

  static async start(parts: SandboxParts): Promise<FakeSandbox> {
    const { definition, dir, without } = parts;
    const network = definition.networkAccess?.networkAccessType !== NETWORK_BLOCKED;
    const child = await startInNamespaces(definition.entrypointArgs, { dir, network, without });
    return new FakeSandbox(parts, child, await firstProcessOf(child));
  }

  get ended(): Promise<Result> {
    return this.#ended.promise;
  }

  /** Kills what runs in it. */
  end(status: number): void {
    if (this.result) return;
    this.result = { status, exitcode: 137 };
    if (this.#first !== undefined) kill(this.#first);
    this.#child.kill('SIGKILL');
  }

  async remove(): Promise<void> {
    this.end(STATUS.terminated);
    await this.ended;
    await rm(this.parts.dir, { recursive: true, force: true });
  }

  exec(id: string): Exec | undefined {
    return this.#execs.get(id);
  }

  /** One that is asked for again is the same. */
  startExec(id: string, command: readonly string[]): void {
    if (this.#execs.has(id) || this.#first === undefined) return;
    const child = runInNamespacesOf(this.#first, command, 'pipe');
    child.stdin?.on('error', () => {});
    this.#execs.set(id, {
      child,
      stdout: new Output(child.stdout!),
      stderr: new Output(child.stderr!),
      written: 0,
    });
  }

  /** What was written before is not written again. */
  async writeTo(exec: Exec, offset: number, data: Buffer, eof: boolean): Promise<void> {
    const news = data.subarray(exec.written - offset);
    exec.written += news.length;
    const { stdin } = exec.child;
    if (!stdin || stdin.destroyed) return;
    if (news.length > 0) await new Promise((resolve) => stdin.write(news, resolve));
    if (eof) stdin.end();
  }

  #end(exitcode: number): void {
    clearTimeout(this.#lifetime);
    this.result ??= { status: exitcode === 0 ? STATUS.success : STATUS.failure, exitcode };
    this.#ended.resolve(this.result);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
