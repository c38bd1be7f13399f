/**
 * The background processes of one slot. They end with it, and it forgets those that ended longest ago; none outlives
 * the server.
 */
import { randomBytes } from 'node:crypto';
import { BackgroundProcess, type BackgroundProcessOptions } from './background-process.ts';

/** Per slot at the same time: more is a loop that starts processes, not work. */
const MAX_RUNNING = 32;
/** How many ended processes can still be asked about. */
const MAX_ENDED = 64;

/** A process that does not exist or cannot be started; the message is for the model. */
export class ProcessError extends Error {}

export class BackgroundProcesses {
  readonly #processes = new Map<string, BackgroundProcess>();
  #starting = 0;

  get all(): readonly BackgroundProcess[] {
    return [...this.#processes.values()];
  }

  /** `prepare` opens what the process needs; it is called only if there is room for one more. */
  async start(
    prepare: (id: string) => Promise<Omit<BackgroundProcessOptions, 'id'>>,
  ): Promise<BackgroundProcess> {
    const running = this.all.filter(({ status }) => status === 'running');
    if (running.length + this.#starting >= MAX_RUNNING) {
      throw new ProcessError(
        `${MAX_RUNNING} processes run in the background; allowed: up to ${MAX_RUNNING}. End one first with the action kill.`,
      );
    }
    this.#starting += 1;
    try {
      const id = `proc_${randomBytes(5).toString('hex')}`;
      const process = new BackgroundProcess({ id, ...(await prepare(id)) });
      this.#processes.set(id, process);
      this.#forgetOldest();
      return process;
    } finally {
      this.#starting -= 1;
    }
  }

  get(id: string): BackgroundProcess {
    const process = this.#processes.get(id);
    if (process) return process;
    const known = this.all.map((other) => `${other.id} (${other.status})`).join(', ');
    throw new ProcessError(
      `There is no process ${id}. ${known === '' ? 'There is none in this sandbox' : `There are ${known}`}. Processes end when the sandbox is given back or replaced, or the server restarts: start it again if it is still needed.`,
    );
  }

  /** Forgets a process that never ran. */
  drop(process: BackgroundProcess): void {
    this.#processes.delete(process.id);
  }

  /** Ends all of them, at once. */
  async endAll(): Promise<void> {
    await Promise.all(this.all.map((process) => process.kill('KILL')));
  }

  #forgetOldest(): void {
    const ended = this.all.filter(({ status }) => status !== 'running');
    for (const process of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) this.drop(process);
  }
}
