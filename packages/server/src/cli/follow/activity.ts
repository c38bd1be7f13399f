/** What happens at the moment, as rows of the footer: tools that work or wait, or that nothing has come for a while. */
import { describeQueue, type RunQueue } from '@talaria/client';
import type { Style } from '../style.ts';
import { safeLine } from '../text/safe-text.ts';
import { elapsed } from '../text/time.ts';
import { fit } from '../text/width.ts';
import { type EventOf, toolLine } from './event-lines.ts';

interface ActiveTool {
  readonly tool: string;
  readonly preview: string;
  /** Seconds since the epoch. */
  readonly since: number;
  /** What it waits for before it can continue. */
  waits: 'for approval' | 'for its client' | undefined;
}

const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const SPINNER_MS = 100;

/** A shorter pause is not shown. */
const SILENT_MS = 400;

export class Activity {
  connected = true;
  stopping = false;
  /** What the run waits for before it is worked on. */
  queue: RunQueue | undefined;
  readonly #style: Style;
  readonly #tools = new Map<string, ActiveTool>();
  #lastEventMs = Date.now();

  constructor(style: Style) {
    this.#style = style;
  }

  eventCame(): void {
    this.#lastEventMs = Date.now();
    this.queue = undefined;
  }

  start(event: EventOf<'tool.started'>): void {
    const { tool, preview = '', timestamp: since } = event;
    const waits = event.client === true ? 'for its client' : undefined;
    this.#tools.set(keyOf(event), { tool, preview, since, waits });
  }

  /** Returns what the tool was doing. */
  complete(event: EventOf<'tool.completed'>): string {
    const preview = this.#tools.get(keyOf(event))?.preview ?? '';
    this.#tools.delete(keyOf(event));
    return preview;
  }

  ask(toolCallId: string): void {
    const tool = this.#tools.get(toolCallId);
    if (tool !== undefined) tool.waits = 'for approval';
  }

  answered(): void {
    for (const tool of this.#tools.values()) {
      if (tool.waits === 'for approval') tool.waits = undefined;
    }
  }

  /** The tools that the client of the run has to run. */
  get ofClient(): string[] {
    return [...this.#tools.values()]
      .filter(({ waits }) => waits === 'for its client')
      .map(({ tool }) => tool);
  }

  /** Lines for the tools that the end of the run interrupted. */
  cutOff(columns: number): string[] {
    const mark = this.#style.careful('■');
    const lines = [...this.#tools.values()].map(({ tool, preview }) =>
      toolLine({ mark, tool, preview, note: 'cut off' }, columns, this.#style),
    );
    this.#tools.clear();
    return lines;
  }

  /** `asking` says that a question is below them, which is activity enough. */
  rows(columns: number, asking: boolean): string[] {
    const spin = this.#style.busy(SPINNER[Math.floor(Date.now() / SPINNER_MS) % SPINNER.length]!);
    const tools = [...this.#tools.values()].map((tool) => this.#toolRow(tool, spin, columns));
    const state = this.#state(tools.length > 0 || asking);
    return state === undefined ? tools : [...tools, `${spin} ${this.#style.faint(fit(state, columns - 3))}`];
  }

  #toolRow({ tool, preview, since, waits }: ActiveTool, spin: string, columns: number): string {
    const note = waits === undefined ? elapsed(Date.now() / 1000 - since) : `waits ${waits}`;
    const mark = waits !== undefined ? this.#style.careful('?') : spin;
    // One column stays free: a row that fills the window may or may not wrap.
    return toolLine({ mark, tool, preview, note }, columns - 1, this.#style);
  }

  #state(busy: boolean): string | undefined {
    if (!this.connected) return 'connection lost; trying again';
    if (this.stopping) return 'stopping';
    const silentMs = Date.now() - this.#lastEventMs;
    if (busy || silentMs < SILENT_MS) return undefined;
    const since = elapsed(silentMs / 1000);
    return this.queue === undefined
      ? `working ${since}`
      : `queued ${since}, ${safeLine(describeQueue(this.queue))}`;
  }
}

/** Servers of the older dialect do not distinguish calls of the same tool. */
function keyOf({ tool, tool_call_id }: EventOf<'tool.started' | 'tool.completed'>): string {
  return tool_call_id ?? tool;
}
