/**
 * Runs of the older dialect. A run does nothing by itself: the test plays it with `emit`, except that a prompt without
 * the word `wait` is answered at once.
 */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { PlainAnswer, PlainRequest, PlainRoute } from './plain-server.ts';

export class PlainRun {
  readonly runId = `run_${randomBytes(16).toString('hex')}`;
  readonly answers: unknown[] = [];
  status = 'started';
  #fields: Record<string, unknown> = {};
  #queue: string[] = [];
  #reader: ServerResponse | undefined;
  #closed = false;

  get connected(): boolean {
    return this.#reader !== undefined;
  }

  /** Sends to the one reader, or keeps for it. What a reader got is gone. */
  emit(event: string, fields: Record<string, unknown> = {}): void {
    const json = JSON.stringify({ event, run_id: this.runId, timestamp: Date.now() / 1000, ...fields });
    this.#queue.push(`data: ${json}\n\n`);
    this.status = { 'approval.request': 'waiting_for_approval' }[event] ?? 'running';
    if (/^run\.(completed|failed|cancelled)$/.test(event)) {
      this.status = event.slice('run.'.length);
      this.#fields = fields;
      this.#closed = true;
    }
    this.#flush();
  }

  close(): void {
    this.#closed = true;
    this.#flush();
  }

  /** Cuts the connection of the reader. */
  cut(): void {
    this.#reader?.destroy();
  }

  read(response: ServerResponse): void {
    this.#reader = response;
    response.on('close', () => {
      this.#reader = undefined;
    });
    this.#flush();
  }

  toJSON(): object {
    const { runId, status } = this;
    return { object: 'hermes.run', run_id: runId, status, session_id: runId, ...this.#fields };
  }

  #flush(): void {
    if (this.#reader === undefined) return;
    for (const frame of this.#queue.splice(0)) this.#reader.write(frame);
    if (this.#closed) this.#reader.end(': stream closed\n\n');
  }
}

export class PlainRuns {
  readonly #runs = new Map<string, PlainRun>();

  /** All of them, the oldest first. */
  get all(): PlainRun[] {
    return [...this.#runs.values()];
  }

  readonly route: PlainRoute = (request) => {
    const { method, path, body } = request;
    if (method === 'POST' && path === '/v1/runs') return this.#create(body);
    const [, runId = '', action] = /^\/v1\/runs\/([^/]+)(?:\/(events|stop|approval))?$/.exec(path) ?? [];
    if (runId === '') return undefined;
    const run = this.#runs.get(runId);
    return run === undefined
      ? { status: 404, json: { error: `Run not found: ${runId}` } }
      : act(run, action, request);
  };

  #create({ input }: Record<string, unknown>): PlainAnswer {
    if (typeof input !== 'string' || input === '') {
      return { status: 400, json: { error: "Missing 'input' field" } };
    }
    const run = new PlainRun();
    this.#runs.set(run.runId, run);
    if (!input.includes('wait')) {
      run.emit('message.delta', { delta: `You said: ${input}` });
      run.emit('run.completed', { output: `You said: ${input}`, usage: {} });
    }
    return { status: 202, json: { run_id: run.runId, status: 'started' } };
  }
}

function act(run: PlainRun, action: string | undefined, { body }: PlainRequest): PlainAnswer {
  const { runId } = run;
  if (action === undefined) return { json: run };
  if (action === 'events') return { stream: (response) => run.read(response) };
  if (action === 'stop') {
    run.status = 'cancelled';
    run.close();
    return { json: { run_id: runId, status: 'stopping' } };
  }
  run.answers.push(body);
  run.emit('approval.responded', { choice: body.choice, resolved: 1 });
  return { json: { run_id: runId, choice: body.choice, resolved: 1 } };
}
