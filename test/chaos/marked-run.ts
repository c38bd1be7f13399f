/**
 * The run that is killed again and again: several steps with text and reasoning, parallel tools that each leave a mark
 * when they run, a command that asks first, an answer. And the checks that must hold whatever happened.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTerminalEvent, type RunEvent } from '@talaria/protocol';
import { expect } from 'vitest';
import { type ModelServer, type Step, script } from '../support/model-server.ts';
import type { KillableServer } from './killable-server.ts';

const mark = (name: string) => ({ name: 'terminal', arguments: { command: `echo ${name} >> marks` } });
const gatedMark = (name: string) => ({
  name: 'terminal',
  arguments: { command: `rm -rf build; echo ${name} >> marks` },
});

/** The model waits between the halves of each text until the client has seen the first one. So every step shows some text. */
const STEPS: (Pick<Step, 'reasoning' | 'tools'> & { halves: [string, string] })[] = [
  { reasoning: 'Where to begin?', halves: ['First I ', 'look around. '], tools: [mark('m1'), mark('m2')] },
  { halves: ['Now I ', 'clean up. '], tools: [mark('m3'), gatedMark('m4')] },
  { reasoning: 'Nearly there.', halves: ['Two more ', 'things. '], tools: [mark('m5'), mark('m6')] },
  { halves: ['All of it ', 'is done.'] },
];
const TEXTS = STEPS.map(({ halves }) => halves.join(''));
const REASONING = STEPS.flatMap((step) => step.reasoning ?? []);
const MARKS = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6'];

type EventOf<N extends RunEvent['event']> = Extract<RunEvent, { event: N }>;

export class MarkedRun {
  readonly #server: KillableServer;
  readonly #model: ModelServer;
  readonly #scriptId: string;
  readonly #id = randomUUID();
  /** What the client sees, as it comes. */
  readonly seen: RunEvent[] = [];
  runId: string | undefined;
  readonly ended: Promise<void>;

  constructor(server: KillableServer, model: ModelServer) {
    const input = script(
      STEPS.map(({ halves: [first, second], ...step }, index) => ({
        ...step,
        chunks: [first, { gate: this.#gate(index) }, second],
      })),
    );
    this.#server = server;
    this.#model = model;
    this.#scriptId = /id=(\S+)/.exec(input)![1]!;
    this.ended = this.#run(input);
    // Checked after the server has been through its deaths.
    this.ended.catch(() => {});
  }

  #gate(step: number): string {
    return `${this.#id}-${step}`;
  }

  async #run(input: string): Promise<void> {
    const approvals: Promise<void>[] = [];
    const runId = await this.#server.create(input);
    this.runId = runId;
    await this.#server.follow(runId, (event) => {
      this.seen.push(event);
      if (event.event === 'message.delta')
        this.#model.open(this.#gate(ofKind(this.seen, 'step.completed').length));
      if (event.event === 'approval.request') approvals.push(this.#server.approve(runId, event.request_id));
    });
    await Promise.all(approvals);
  }

  /** The poll after a restart, before the run continues: it must not report an end that did not happen. */
  async checkPoll(): Promise<void> {
    if (this.runId === undefined) return;
    const seenEnd = this.seen.find(({ event }) => isTerminalEvent(event));
    const { status } = await this.#server.api.run(this.runId);
    expect(
      seenEnd === undefined ? ['started', 'running', 'waiting_for_approval', 'completed'] : ['completed'],
    ).toContain(status);
    if (status !== 'completed') return;
    const { frames } = await this.#server.api.stream(this.runId);
    expect(frames.at(-1)?.event.event).toBe('run.completed');
  }

  /** Checks everything that must hold at the end; returns the marks of the calls reported as interrupted. */
  async check(): Promise<string[]> {
    await this.ended;
    const { seen, runId = '' } = this;
    const { api } = this.#server;

    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index));
    const replay = await api.stream(runId);
    expect(replay.frames.map(({ event }) => event)).toEqual(seen);
    expect(replay.clean).toBe(true);

    expect(seen.filter(({ event }) => isTerminalEvent(event))).toHaveLength(1);
    expect(seen.at(-1)).toMatchObject({ event: 'run.completed', output: TEXTS.at(-1) });
    // A step that was interrupted and requested again counts once.
    const usage = { input_tokens: 40, output_tokens: 20, total_tokens: 60 };
    expect(await api.run(runId)).toMatchObject({ status: 'completed', output: TEXTS.at(-1), usage });
    expect((await api.list()).data.map((run) => run.run_id)).toEqual([runId]);

    expect(settled(seen)).toEqual({ text: TEXTS.join(''), reasoning: REASONING });
    expect(ofKind(seen, 'approval.request')).toHaveLength(1);
    expect(ofKind(seen, 'approval.responded')).toHaveLength(1);
    return this.#checkCalls();
  }

  get resumed(): EventOf<'run.resumed'>[] {
    return ofKind(this.seen, 'run.resumed');
  }

  /** Every call began once and ended once; its effect happened once; and if that is unknown, it says so. */
  #checkCalls(): string[] {
    const started = ofKind(this.seen, 'tool.started');
    const completed = ofKind(this.seen, 'tool.completed');
    const marks = marksOf(this.#server, this.runId ?? '');
    const interrupted: string[] = [];
    expect(started.map(markOf).sort()).toEqual(MARKS);
    for (const call of started) {
      const outcomes = completed.filter(({ tool_call_id }) => tool_call_id === call.tool_call_id);
      expect(outcomes).toHaveLength(1);
      const times = marks.filter((name) => name === markOf(call)).length;
      if (outcomes[0]!.error) {
        interrupted.push(markOf(call));
        expect(outcomes[0]!.preview).toMatch(/interrupted.*outcome is unknown/);
        expect(this.#toldToModel(call.tool_call_id)).toMatch(/interrupted.*outcome is unknown/);
        expect(times).toBeLessThanOrEqual(1);
      } else {
        expect([markOf(call), times]).toEqual([markOf(call), 1]);
      }
    }
    expect(marks.length).toBeGreaterThanOrEqual(MARKS.length - interrupted.length);
    return interrupted.sort();
  }

  /** The result of the call in the model's last request. */
  #toldToModel(callId: string): string {
    const last = this.#model.requests.findLast((request) => request.scriptId === this.#scriptId);
    const results = (last?.body.messages ?? []) as {
      role: string;
      tool_call_id?: string;
      content?: unknown;
    }[];
    return String(results.find((message) => message.tool_call_id === callId)?.content);
  }
}

/** The marks that the tools of a run have left in its workspace, in the order they were left. */
export function marksOf(server: KillableServer, runId: string): string[] {
  const path = join(server.process.dataDir, 'workspaces', `t-${runId}`, 'marks');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
}

/** What a client that handles `run.resumed` shows at the end. */
export function settled(events: readonly RunEvent[]): { text: string; reasoning: string[] } {
  let shown: (EventOf<'message.delta'> | EventOf<'reasoning.available'>)[] = [];
  for (const event of events) {
    if (event.event === 'message.delta' || event.event === 'reasoning.available') shown.push(event);
    if (event.event === 'run.resumed') {
      const from = event.discard_from_seq ?? event.seq;
      // Only what a step has shown is discarded, nothing that has happened.
      const discarded = events.slice(from, event.seq).map((other) => other.event);
      expect(discarded.filter((name) => !['message.delta', 'reasoning.available'].includes(name))).toEqual(
        [],
      );
      if (event.discard_from_seq !== undefined) expect(discarded.length).toBeGreaterThan(0);
      shown = shown.filter(({ seq }) => seq < from);
    }
  }
  return {
    text: shown.map((event) => (event.event === 'message.delta' ? event.delta : '')).join(''),
    reasoning: shown.flatMap((event) => (event.event === 'reasoning.available' ? [event.text] : [])),
  };
}

export function ofKind<N extends RunEvent['event']>(events: readonly RunEvent[], name: N): EventOf<N>[] {
  return events.filter((event): event is EventOf<N> => event.event === name);
}

function markOf(call: EventOf<'tool.started'>): string {
  return /echo (m\d)/.exec(call.preview)?.[1] ?? call.preview;
}
