/**
 * The keepers of one backend. The first one is a child of the server, in a sandbox that stays; it starts one for each slot,
 * which takes about a millisecond. They all end with the server, and with the first one.
 *
 * A first keeper that has ended is replaced with the next command. What it ran is lost; nothing is run again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { childrenOf, kill, namespacePids } from '../../host/process-table.ts';
import { SYSTEM_PATH } from '../../host/system-path.ts';
import type { Standing } from '../isolation/isolation-driver.ts';
import { withoutInherited } from '../process/inherited.ts';
import type { PipeMaker, PipeStock } from '../process/pipe-stock.ts';
import { Keeper, linkByPipes } from './keeper.ts';
import { KeeperLink, nextId } from './keeper-link.ts';
import { keeperProgram } from './keeper-program.ts';
import { KeeperStart } from './keeper-start.ts';
import { keeperSteps } from './keeper-table.ts';
import { pipeSteps } from './pipe-table.ts';
import { TableFile } from './table-file.ts';

const SIGCHLD = 17;
const MESSAGE_LENGTH = 4_000;
/** As in process/terminate.ts. */
const PATIENCE_MS = 3_000;
const RETRY_MS = 5;

interface FirstKeeper {
  child: ChildProcess;
  link: KeeperLink;
  /** As this process sees it; the child is the program that made the sandbox. */
  pid: number;
  /** The table that makes a process the keeper of a slot. */
  table: TableFile;
}

export class Keepers {
  readonly #standing: Standing;
  readonly #baseDir: string;
  readonly #pipes: PipeStock;
  readonly #program: string;
  readonly #loop: number;
  #first: Promise<FirstKeeper> | undefined;

  constructor(standing: Standing, baseDir: string, pipes: PipeStock) {
    this.#standing = standing;
    this.#baseDir = baseDir;
    this.#pipes = pipes;
    const { bytes, loop } = keeperProgram(standing.prepare, standing.entries.architecture);
    this.#program = standing.entries.add('keep', () => bytes);
    this.#loop = loop;
  }

  /** A keeper for a slot. Rejects with the reason if none can be started. */
  async open(): Promise<Keeper> {
    const first = await this.#openFirst();
    return this.#openBelow(first).catch((error: unknown) => {
      // The first keeper had ended unnoticed.
      if (first.link.isGone) return this.#openFirst().then((next) => this.#openBelow(next));
      throw error;
    });
  }

  async #openBelow(first: FirstKeeper): Promise<Keeper> {
    const [requests, reports] = [await this.#pipes.takeNamed(), await this.#pipes.takeNamed()];
    const start = new KeeperStart(first.table, requests, reports, () => void settle(first));
    const link = linkByPipes(requests.write, reports.read, (report) => start.onReport(report));
    try {
      first.link.start(nextId(), start);
      const pid = findChild(first.pid, await start.ready);
      return new Keeper({
        standing: this.#standing,
        baseDir: this.#baseDir,
        pipes: this.#pipes,
        pid,
        requests: requests.write,
        link,
        settle: () => settle(first),
      });
    } catch (error) {
      closeSync(requests.write);
      throw error;
    } finally {
      closeSync(requests.read);
      closeSync(reports.write);
      for (const { name } of [requests, reports]) this.#pipes.removeName(name);
    }
  }

  readonly makePipes: PipeMaker = async (names) => {
    const { link } = await this.#openFirst();
    const table = new TableFile(pipeSteps(names), this.#standing.entries.architecture, this.#pipes);
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = () => reject(new Error('a keeper could not create pipes'));
        link.start(nextId(), {
          request: { flags: SIGCHLD, tableBytes: table.bytes, table: table.name },
          onStarted: () => {},
          onBegun: () => {},
          onRefused: fail,
          onEnded: (status) => (status === 0 ? resolve() : fail()),
          onLost: fail,
        });
      });
    } finally {
      table.remove();
    }
  };

  /** Ends all of them, and what they run. */
  async close(): Promise<void> {
    const first = await this.#first?.catch(() => undefined);
    this.#first = undefined;
    if (!first) return;
    first.child.stdin?.destroy();
    await first.link.gone;
  }

  /** A failed attempt is not kept: the next call tries again. */
  #openFirst(): Promise<FirstKeeper> {
    this.#first ??= this.#startFirst().then(
      (first) => {
        void first.link.gone.then(() => {
          this.#first = undefined;
          first.table.remove();
        });
        return first;
      },
      (error: unknown) => {
        this.#first = undefined;
        throw error;
      },
    );
    return this.#first;
  }

  async #startFirst(): Promise<FirstKeeper> {
    const { program, args, cwd } = await this.#standing.launch(this.#program, this.#baseDir, this.#pipes.dir);
    const directory = openSync(this.#pipes.dir, constants.O_RDONLY | constants.O_DIRECTORY);
    let child: ChildProcess;
    try {
      child = spawn(program, args, {
        cwd,
        env: { PATH: SYSTEM_PATH },
        detached: true,
        stdio: withoutInherited(['pipe', 'pipe', 'pipe', directory]),
      });
    } finally {
      closeSync(directory);
    }
    const ended = once(child, 'exit');
    let message = '';
    child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      message = (message + part).slice(0, MESSAGE_LENGTH);
    });
    const { stdin, stdout, pid } = child;
    if (!stdin || !stdout || pid === undefined) {
      await ended;
      throw new Error(`${program} could not be started`);
    }
    // The keeper is gone; the end of its reports will show it.
    stdin.on('error', () => {});
    const ready = Promise.withResolvers<void>();
    const link = new KeeperLink(
      stdout,
      (request) => stdin.write(request),
      (report) => {
        if (report.kind === 'begun') ready.resolve();
        else ready.reject(new Error('the first keeper was refused a step'));
      },
    );
    void link.gone.then(() =>
      ready.reject(new Error(message.trim() || 'the first keeper ended during its start')),
    );
    await ready.promise;
    const [first] = childrenOf(pid);
    if (first === undefined) throw new Error('the first keeper ended during its start');
    const { ownNetwork, entries } = this.#standing;
    const steps = keeperSteps({ ownNetwork, loop: this.#loop });
    return { child, link, pid: first, table: new TableFile(steps, entries.architecture, this.#pipes) };
  }
}

/** The process that a keeper knows by this pid. */
function findChild(keeperPid: number, innerPid: number): number {
  const pid = childrenOf(keeperPid).find((child) => namespacePids(child)[1] === innerPid);
  if (pid === undefined) throw new Error('a keeper ended during its start');
  return pid;
}

/**
 * Ends the commands that a dead keeper has left, and waits for their end. Commands die with their keeper. Only if it is killed
 * in the very moment in which one begins, they die a moment later. Meanwhile they are children of the first keeper: each is the
 * first process of a namespace, which no keeper is. If the first keeper is gone itself, all commands are gone when the program
 * around it has ended.
 */
async function settle({ child, link, pid: firstPid }: FirstKeeper): Promise<boolean> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await delay(RETRY_MS)) {
    // Its number may now be that of another process.
    const children = link.isGone ? [] : childrenOf(firstPid);
    const orphans = children.filter((pid) => namespacePids(pid).at(-1) === 1);
    for (const pid of orphans) kill(pid);
    const isOver = link.isGone ? child.exitCode !== null || child.signalCode !== null : orphans.length === 0;
    if (isOver) return true;
  }
  return false;
}
