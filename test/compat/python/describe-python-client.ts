/** A Python client: a process in its own environment that gets the tasks, see harness.py. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Task } from '../capabilities.ts';
import { describeClient, type Shown } from '../describe-client.ts';
import { APIS, type CLIENTS } from '../features.ts';
import { environment, isInstalled, pinnedVersion } from './environments.ts';

export interface PythonClient {
  /** The file that shows what the client can do. */
  file: string;
  /** The file in `requirements`, without its ending. */
  requirements: (typeof CLIENTS.Python)[number];
  /** Its name where it is published. */
  name: string;
  outputTool?: string;
  /** What this version cannot do yet. */
  without?: RegExp;
}

export function describePythonClient({ file, requirements, name, outputTool, without }: PythonClient): void {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const env = environment(requirements);
  const process = new PythonProcess(env.python, path);
  describeClient({
    id: requirements,
    name,
    version: pinnedVersion(env, name),
    ...(outputTool === undefined ? {} : { outputTool }),
    skip: isInstalled(env) ? undefined : 'run "npm run compat:install"; it needs Python 3.11',
    start: () => process.start(),
    stop: () => process.stop(),
    shows: Object.fromEntries(
      capabilitiesIn(path)
        .filter((shown) => !without?.test(shown))
        .map((shown) => [shown, (task: Task) => process.ask(shown, task)]),
    ),
  });
}

/** The marks in the file; read, not run, so that the tests have their names even without Python. */
function capabilitiesIn(path: string): Shown[] {
  const marks = [...readFileSync(path, 'utf8').matchAll(/^@(shows|shows_with_both)\(([^)]*)\)/gm)];
  const shown = marks.flatMap(([, mark, words = '']) => {
    const names = [...words.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);
    return mark === 'shows' ? names : APIS.flatMap((api) => names.map((name) => `${api}: ${name}`));
  });
  return shown as Shown[];
}

interface Answer {
  id?: string;
  result?: unknown;
  error?: string;
}

class PythonProcess {
  readonly #python: string;
  readonly #path: string;
  #child: ChildProcess | undefined;
  #errors = '';
  #asked = 0;
  readonly #waiting = new Map<string, (answer: Answer) => void>();

  constructor(python: string, path: string) {
    this.#python = python;
    this.#path = path;
  }

  async start(): Promise<void> {
    const child = spawn(this.#python, [this.#path], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        // Turns off the telemetry of these libraries.
        OPENAI_AGENTS_DISABLE_TRACING: '1',
        LANGCHAIN_TRACING_V2: 'false',
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        PYTHONDONTWRITEBYTECODE: '1',
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-10_000);
    });
    this.#child = child;
    await new Promise((resolve, reject) => {
      this.#waiting.set('ready', resolve);
      child.once('error', reject);
      createInterface({ input: child.stdout })
        .on('line', (line) => this.#take(JSON.parse(line)))
        .on('close', () => {
          const error = new Error(`The client has ended:\n${this.#errors}`);
          reject(error);
          for (const settle of this.#waiting.values()) settle({ error: error.message });
        });
    });
  }

  async ask(capability: string, task: Task): Promise<unknown> {
    const id = String(this.#asked++);
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#child!.stdin!.write(`${JSON.stringify({ id, capability, task })}\n`);
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(error);
    return result;
  }

  #take(answer: Answer): void {
    const id = answer.id ?? 'ready';
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}
