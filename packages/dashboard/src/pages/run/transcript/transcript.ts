/**
 * The fold of a run's events into the rows of its transcript.
 *
 * - Every event costs about the same, however long the run is: text is appended to the last block, a completed call
 *   finds its row by id.
 * - How the events are cut into batches makes no difference.
 * - After a restart, what the model repeats is not removed but marked (`taken`, `cutOff`): somebody may have read it.
 * - Rows change in place; their keys are the same in every fold of the run.
 */
import type { RunEvent } from '@talaria/client';
import { Phases } from '../timeline/phases.ts';
import type { ApprovalRow, EndRow, EventOf, Row, StepRow, StepSpan, TextRow, ToolRow } from './rows.ts';
import { TextBlocks } from './text-blocks.ts';

export class Transcript {
  readonly events: RunEvent[] = [];
  readonly rows: Row[] = [];
  readonly phases = new Phases();
  readonly #after: number;
  readonly #calls = new Map<string, ToolRow>();
  readonly #questions = new Map<string, ApprovalRow>();
  #writing: { blocks: TextBlocks; shown: number; begin: number } | undefined;
  #step: StepRow | undefined;
  /** The model has answered in this step: what it says next belongs to another. */
  #answered = false;
  /** The server has said that this step is over. Only its calls and an answer that had to be checked still follow. */
  #complete = false;
  #openCalls = 0;
  #steps = 0;
  /** The server says where steps end, so nothing has to be guessed. Earlier versions do not. */
  #told = false;

  /** `after`: the event before the first one, for a fold that does not begin with the first event of the run. */
  constructor(after = -1) {
    this.#after = after;
  }

  get lastSeq(): number {
    return this.#after + this.events.length;
  }

  get steps(): number {
    return this.#steps;
  }

  get end(): EndRow | undefined {
    const last = this.rows.at(-1);
    return last?.kind === 'end' ? last : undefined;
  }

  /** Questions without an answer, oldest first. */
  get pending(): readonly ApprovalRow[] {
    return [...this.#questions.values()];
  }

  eventAt(seq: number): RunEvent | undefined {
    return this.events[seq - this.#after - 1];
  }

  /** The row that shows an event: a call's end is in the row of the call. */
  rowIndexOf(seq: number): number {
    const event = this.eventAt(seq);
    const call = event?.event === 'tool.completed' ? this.#calls.get(event.tool_call_id) : undefined;
    return this.#rowIndexAt(call?.seq ?? seq);
  }

  callRow(callId: string): ToolRow | undefined {
    return this.#calls.get(callId);
  }

  /** The step that an event belongs to. */
  stepAt(seq: number): StepSpan | undefined {
    let index = Math.min(this.#rowIndexAt(seq), this.rows.length - 1);
    while (index >= 0 && this.rows[index]!.kind !== 'step') index--;
    const step = this.rows[index];
    if (step?.kind !== 'step' || step.seq > seq) return undefined;
    let next = index + 1;
    while (next < this.rows.length && this.rows[next]!.kind !== 'step') next++;
    const following = this.rows[next];
    return {
      number: step.number,
      first: step.seq,
      last: following === undefined ? this.lastSeq : following.seq - 1,
      isOver: following !== undefined || this.end !== undefined,
    };
  }

  /** The last row that began at the event or before it. */
  #rowIndexAt(seq: number): number {
    let [low, high] = [0, this.rows.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.rows[middle]!.seq <= seq) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  add(events: readonly RunEvent[]): void {
    for (const event of events) this.#add(event);
  }

  #add(given: RunEvent): void {
    // Other servers of this protocol may not number their events.
    const event = typeof given.seq === 'number' ? given : { ...given, seq: this.lastSeq + 1 };
    if (event.seq !== this.lastSeq + 1) return;
    this.events.push(event);
    this.phases.add(event);
    if (event.event === 'message.delta') this.#say(event);
    else this.#addOther(event);
  }

  #addOther(event: Exclude<RunEvent, EventOf<'message.delta'>>): void {
    this.#endText();
    const base = { key: `${event.seq}`, seq: event.seq, at: event.timestamp };
    switch (event.event) {
      case 'reasoning.available':
        this.#beginStep(event);
        this.rows.push({ ...base, kind: 'reasoning', text: event.text, taken: false });
        break;
      case 'step.completed':
        this.#completeStep(event);
        break;
      case 'tool.started':
        this.#startCall(event, base);
        break;
      case 'tool.completed':
        this.#completeCall(event);
        break;
      case 'approval.request': {
        const row: ApprovalRow = { ...base, kind: 'approval', request: event };
        this.#questions.set(event.request_id, row);
        this.rows.push(row);
        break;
      }
      case 'approval.responded':
        this.#answer(event);
        break;
      case 'run.steered':
        // The model gets the text with its next step.
        this.#answered ||= this.#complete;
        this.rows.push({ ...base, kind: 'note', event });
        break;
      case 'run.waiting':
        this.rows.push({ ...base, kind: 'note', event });
        break;
      case 'run.resumed':
        this.#resume(event);
        this.rows.push({ ...base, kind: 'note', event });
        break;
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
        this.#questions.clear();
        this.rows.push({ ...base, kind: 'end', event });
        break;
      // Events of a later version are not shown.
    }
  }

  #say(event: EventOf<'message.delta'>): void {
    if (!this.#complete || this.#answered) this.#beginStep(event);
    this.#write(event);
  }

  #write({ seq, timestamp: at, delta }: EventOf<'message.delta'>): void {
    this.#writing ??= { blocks: new TextBlocks(), shown: 0, begin: seq };
    const { blocks, begin } = this.#writing;
    blocks.append(delta);
    for (; this.#writing.shown < blocks.blocks.length; this.#writing.shown++) {
      const { shown } = this.#writing;
      const block = blocks.blocks[shown]!;
      this.rows.push({ kind: 'text', key: `${begin}.${shown}`, seq, at, block, taken: false });
    }
  }

  #endText(): void {
    this.#writing?.blocks.end();
    this.#writing = undefined;
  }

  #beginStep({ seq, timestamp }: { seq: number; timestamp: number }): StepRow {
    if (this.#step !== undefined && !this.#answered && !this.#complete) return this.#step;
    this.#endText();
    this.#answered = false;
    this.#complete = false;
    this.#steps++;
    const number = this.#after === -1 || this.#told ? this.#steps : undefined;
    this.#step = { kind: 'step', key: `step ${seq}`, seq, at: timestamp, number, facts: {}, cutOff: false };
    this.rows.push(this.#step);
    return this.#step;
  }

  #completeStep(event: EventOf<'step.completed'>): void {
    const { step: number, duration, usage, finish_reason } = event;
    const step = this.#beginStep(event);
    Object.assign(step, { number, facts: { duration, usage, finish_reason } });
    this.#steps = number;
    this.#told = true;
    this.#complete = true;
  }

  #startCall(started: EventOf<'tool.started'>, base: Pick<ToolRow, 'key' | 'seq' | 'at'>): void {
    // A model may call tools without a word. Where the server does not say that a step has ended, a call that starts
    // when all earlier ones are complete belongs to the next.
    const step = this.#step;
    if (step === undefined || (!this.#told && this.#answered && this.#openCalls === 0))
      this.#beginStep(started);
    this.#answered = true;
    this.#openCalls++;
    const row: ToolRow = { ...base, kind: 'tool', started };
    this.#calls.set(started.tool_call_id, row);
    this.rows.push(row);
  }

  #completeCall(completed: EventOf<'tool.completed'>): void {
    const row = this.#calls.get(completed.tool_call_id);
    if (row === undefined || row.completed !== undefined) return;
    row.completed = completed;
    this.#openCalls--;
  }

  #answer(event: EventOf<'approval.responded'>): void {
    const row = this.#questions.get(event.request_id);
    if (row === undefined) return;
    row.answer = event;
    this.#questions.delete(event.request_id);
  }

  #resume({ discard_from_seq: from }: EventOf<'run.resumed'>): void {
    if (from === undefined) return;
    this.#splitText(from);
    let cut: StepRow | undefined;
    for (let index = this.rows.length - 1; index >= 0; index--) {
      const row = this.rows[index]!;
      if (row.seq < from) break;
      if (row.kind === 'text' || row.kind === 'reasoning') row.taken = true;
      else if (row.kind === 'step') cut = row;
    }
    if (cut === undefined) return;
    cut.cutOff = true;
    if (cut !== this.#step) return;
    this.#step = undefined;
    this.#complete = false;
    this.#steps--;
  }

  /** Where the text of two steps came without anything between them, only the later part is taken back. */
  #splitText(from: number): void {
    const inside = this.rows[this.#rowIndexAt(from)];
    if (inside?.kind !== 'text' || this.eventAt(from)?.event !== 'message.delta') return;
    const begun = beginOf(inside);
    if (begun >= from) return;
    const isPart = (row: Row) => row.kind === 'text' && beginOf(row) === begun;
    const first = this.rows.findIndex(isPart);
    const parts = this.rows.filter(isPart).length;
    const later = this.rows.splice(first).slice(parts);
    this.#writeAgain(begun, from);
    this.#writeAgain(from, this.lastSeq + 1);
    this.rows.push(...later);
  }

  /** Makes the rows of the text from one event up to another. */
  #writeAgain(from: number, to: number): void {
    for (let seq = from; seq < to; seq++) {
      const event = this.eventAt(seq);
      if (event?.event !== 'message.delta') break;
      this.#write(event);
    }
    this.#endText();
  }
}

/** The first event of the text that a row is part of. */
function beginOf({ key }: TextRow): number {
  return Number(key.split('.')[0]);
}
