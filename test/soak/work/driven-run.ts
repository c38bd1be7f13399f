/** One run as a client drives it: created with a key, followed to its end, its questions and calls answered; all of it is evidence. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RunCreated, RunEvent } from '@talaria/protocol';
import { type ScriptedTool, type Step, script } from '../../support/model-server.ts';
import { type CallEvidence, clientOutput, markingCommand, type RunEvidence } from '../evidence.ts';
import type { PersistentClient } from '../persistent-client.ts';
import type { PlannedCall, PlannedRun } from '../plan.ts';

const TOOLS = [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }];

export interface DrivenRunOptions {
  client: PersistentClient;
  work: string;
  plan: PlannedRun;
  /** The URL of a receiver; only some runs have one. */
  webhookUrl: string;
  /** Further fields of the create. */
  fields?: Record<string, unknown>;
  /** Where it is created, if it is not a new one. */
  path?: string;
  evidence?: Partial<RunEvidence>;
}

export class DrivenRun {
  readonly evidence: RunEvidence;
  readonly #options: DrivenRunOptions;
  readonly #prompt: string;
  readonly #answers: Promise<void>[] = [];

  constructor(options: DrivenRunOptions) {
    const { plan, work } = options;
    this.#options = options;
    this.#prompt = promptOf(plan);
    this.evidence = {
      work,
      script: scriptIdOf(this.#prompt),
      ids: [],
      seen: [],
      ...expectationsOf(plan),
      webhook: plan.webhook,
      stop: 'never asked',
      approved: {},
      ...options.evidence,
    };
  }

  async create(): Promise<string> {
    const { client, plan, webhookUrl, fields, path = '/v1/runs', work } = this.#options;
    const asks = plan.steps.some(({ calls }) => calls.some(({ manner }) => manner === 'client'));
    const body = {
      input: this.#prompt,
      ...(asks ? { tools: TOOLS } : {}),
      ...(plan.webhook && path === '/v1/runs' ? { webhook: { url: webhookUrl } } : {}),
      ...fields,
    };
    const headers = { 'idempotency-key': `key-of-${work}` };
    const answer = await client.request<RunCreated>(path, { body, headers });
    if (answer.status !== 202) throw new Error(`create: ${answer.status} ${JSON.stringify(answer.body)}`);
    this.evidence.ids.push(answer.body.run_id);
    if (answer.unanswered > 0 || plan.createsAgain) {
      const again = await client.request<RunCreated>(path, { body, headers });
      if (again.status !== 202) throw new Error(`again: ${again.status} ${JSON.stringify(again.body)}`);
      this.evidence.ids.push(again.body.run_id);
    }
    return answer.body.run_id;
  }

  /** Follows it to its end. */
  async follow(): Promise<void> {
    const { client, plan } = this.#options;
    const [runId] = this.evidence.ids;
    if (runId === undefined) throw new Error('expected a run that was created');
    if (plan.stopAfter === 0) this.#answers.push(this.#stop(runId));
    await client.follow(runId, (data, event) => {
      this.evidence.seen.push(data);
      if (this.evidence.seen.length === plan.stopAfter) this.#answers.push(this.#stop(runId));
      if (event.event === 'approval.request') this.#answers.push(this.#approve(runId, event));
      if (event.event === 'run.waiting') this.#answers.push(this.#runCalls(runId, event));
    });
    await Promise.all(this.#answers);
  }

  async #approve(
    runId: string,
    { request_id, tool_call_id }: Extract<RunEvent, { event: 'approval.request' }>,
  ) {
    const { client, plan } = this.#options;
    await delay(plan.answerAfterMs);
    const denied = this.#callOf(tool_call_id)?.manner === 'denied';
    const body = { choice: denied ? 'deny' : 'once', request_id };
    const { status, unanswered } = await client.request(`/v1/runs/${runId}/approval`, { body });
    if (status === 200) this.evidence.approved[request_id] = body.choice;
    // It may have been answered by an attempt whose answer was lost, or ended by a stop.
    else if (status !== 409 || (unanswered === 0 && this.evidence.stop === 'never asked')) {
      throw new Error(`the answer to ${request_id} got ${status}`);
    }
  }

  async #runCalls(runId: string, { calls }: Extract<RunEvent, { event: 'run.waiting' }>) {
    const { client, plan } = this.#options;
    await delay(plan.answerAfterMs);
    const outputs = calls.map(({ tool_call_id, arguments: words }) => ({
      tool_call_id,
      output: clientOutput(String(words.word)),
    }));
    const { status, body } = await client.request(`/v1/runs/${runId}/tool_outputs`, { body: { outputs } });
    // The same output again is accepted; only a stop can have closed the calls.
    if (status !== 200 && this.evidence.stop === 'never asked') {
      throw new Error(`the outputs got ${status} ${JSON.stringify(body)}`);
    }
  }

  async #stop(runId: string): Promise<void> {
    this.evidence.stop = 'asked';
    const { status, body } = await this.#options.client.request(`/v1/runs/${runId}/stop`, { body: {} });
    if (status === 200) this.evidence.stop = 'accepted';
    else if (status !== 404) throw new Error(`the stop got ${status} ${JSON.stringify(body)}`);
  }

  /** By the event that began it. */
  #callOf(toolCallId: string): CallEvidence | undefined {
    const begin = this.evidence.seen.find(
      (data) => data.includes(`"tool_call_id":"${toolCallId}"`) && data.includes('"event":"tool.started"'),
    );
    return this.evidence.calls.find(({ mark }) => begin?.includes(`${mark} `) || begin?.includes(`${mark}"`));
  }
}

export function promptOf({ steps }: PlannedRun): string {
  return script(
    steps.map(
      ({ text, pieces, delayMs = 0, reasoning, calls }): Step => ({
        text,
        chunks: pieces,
        delayMs,
        ...(reasoning === undefined ? {} : { reasoning }),
        tools: calls.map(toolOf),
      }),
    ),
  );
}

export function scriptIdOf(prompt: string): string {
  return /id=(\S+)/.exec(prompt)![1]!;
}

export function expectationsOf({ steps }: PlannedRun): Pick<RunEvidence, 'texts' | 'reasoning' | 'calls'> {
  return {
    texts: steps.map(({ text }) => text),
    reasoning: steps.flatMap(({ reasoning }) => reasoning ?? []),
    calls: steps.flatMap(({ calls }, step) => calls.map((call) => ({ ...call, step }))),
  };
}

function toolOf({ mark, manner }: PlannedCall): ScriptedTool {
  if (manner === 'client') return { name: 'lookup', arguments: { word: mark } };
  if (manner === 'write') return { name: 'write_file', arguments: { path: `made/${mark}`, content: mark } };
  const command = markingCommand(mark, manner);
  return {
    name: 'terminal',
    arguments: { command, ...(manner === 'background' ? { background: true } : {}) },
  };
}
