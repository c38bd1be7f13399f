/**
 * Makes the screen of a terminal from what it printed, when somebody looks. A terminal emulator does it, in a thread of the
 * server, one screen at a time, from bounded text within a bounded time: so nothing that a program prints can hurt the server or
 * take memory from it, and it costs nothing while nobody looks. The server inside a container passes on what was printed; it
 * has no emulator.
 */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ExecutionMetadata } from '../../backend.ts';
import { Turns } from '../../workspace/files/turns.ts';

/** The thread's program beside this file, with the same ending: TypeScript here, JavaScript after a build. */
const PROGRAM = new URL(`./screen-thread-program${extname(import.meta.url)}`, import.meta.url);
/** Many times what a screen takes: the screens of other slots wait for it. */
const LIMIT_MS = 5_000;
const HEAP_MB = 256;
/** Of more lines the last ones are shown. */
const SHOWN_LENGTH = 50_000;

export interface ScreenJob extends NonNullable<ExecutionMetadata['screen']> {
  printed: string;
}

const turns = new Turns();
let thread: Worker | undefined;

export function renderScreen(job: ScreenJob): Promise<string> {
  return turns.take('screen', () => render(job));
}

async function render(job: ScreenJob): Promise<string> {
  thread ??= start();
  const worker = thread;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onExit = () => reject(new Error('The thread for screens has ended'));
  const timer = setTimeout(() => reject(new Error('The screen took too long')), LIMIT_MS);
  worker.once('message', resolve).once('error', reject).once('exit', onExit);
  worker.ref();
  try {
    worker.postMessage(job);
    return await promise;
  } catch (error) {
    thread = undefined;
    void worker.terminate();
    throw error;
  } finally {
    clearTimeout(timer);
    worker.off('message', resolve).off('error', reject).off('exit', onExit);
    worker.unref();
  }
}

function start(): Worker {
  // Not with the options of the program around it: `--input-type`, for one, fails every thread that has a file.
  const worker = new Worker(PROGRAM, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
  const forget = (): void => {
    if (thread === worker) thread = undefined;
  };
  // It may also die between two screens, for example of its heap. Without a listener that error would end the server.
  return worker.on('error', forget).on('exit', forget);
}

interface Outcome {
  output: string;
  error: string;
  metadata: Pick<ExecutionMetadata, 'screen'> & Partial<Pick<ExecutionMetadata, 'truncated'>>;
}

/** The outcome with a screen as its output, if that is what its output is for. */
export async function withScreen<T extends Outcome>(outcome: T): Promise<T> {
  const { screen, ...metadata } = outcome.metadata;
  if (screen === undefined) return outcome;
  try {
    const output = await renderScreen({ ...screen, printed: outcome.output });
    if (output.length <= SHOWN_LENGTH) return { ...outcome, output, metadata };
    const shown = output.slice(output.indexOf('\n', output.length - SHOWN_LENGTH) + 1);
    return { ...outcome, output: shown, metadata: { ...metadata, truncated: true } };
  } catch (error) {
    const reason = (error as Error).message;
    return { ...outcome, output: '', error: `The screen could not be made: ${reason}.`, metadata };
  }
}
