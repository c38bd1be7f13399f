/**
 * A run for people: the model's text, its tools with their outcomes, its questions, its end.
 *
 * If stdout is a terminal, text is shown as it streams. Otherwise stdout gets only the answer of a completed run;
 * earlier text goes to the screen (stderr) after its step has ended and the text is final. A tool is a row of the
 * footer while it works and a line when it is done.
 *
 * After a restart of the server the model repeats the text of the interrupted step. What was already shown on a
 * terminal stays in its scrollback, so a line says which text is void.
 */
import {
  type ConnectionChange,
  describeQueue,
  type Run,
  type RunEvent,
  type RunQueue,
} from '@talaria/client';
import { questionLines } from '../runs/approval-question.ts';
import type { ApprovalPrompt } from '../screen/approval-prompt.ts';
import type { Screen } from '../screen/screen.ts';
import type { Style } from '../style.ts';
import type { Output } from '../terminal.ts';
import { safeLine, safeText } from '../text/safe-text.ts';
import { fit } from '../text/width.ts';
import { Activity } from './activity.ts';
import {
  completedToolLines,
  type EventOf,
  endLine,
  reasoningLines,
  respondedLine,
  steeredLine,
  stepLine,
  type TerminalEvent,
  toolLine,
  waitingLine,
} from './event-lines.ts';
import { HeldText } from './held-text.ts';
import type { RunView } from './run-view.ts';

export interface TextViewOptions {
  readonly screen: Screen;
  readonly style: Style;
  /** Where the answer goes; undefined if it is on the screen already. */
  readonly answer: Output | undefined;
  /** Only questions, the answer, and how the run ended if it did not complete. */
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly prompt: ApprovalPrompt | undefined;
}

/** How much of void text is quoted. */
const VOID_COLUMNS = 40;

export class TextView implements RunView {
  readonly prompt: ApprovalPrompt | undefined;
  readonly #options: TextViewOptions;
  readonly #activity: Activity;
  /** The text of this step. */
  readonly #text = new HeldText();
  /** When the run was created; the time of its first event on servers that do not tell. */
  #createdAt: number | undefined;
  #firstEventAt: number | undefined;
  /** The connection was lost, and the first attempt to reconnect failed. */
  #away = false;
  #ended = false;

  constructor(options: TextViewOptions) {
    this.#options = options;
    this.prompt = options.prompt;
    this.#activity = new Activity(options.style);
    options.screen.setFooter((columns) => this.#footer(columns));
  }

  created(at: number): void {
    this.#createdAt = at;
  }

  queued(queue: RunQueue): void {
    const { screen, style, quiet } = this.#options;
    const isNews = this.#activity.queue === undefined;
    this.#activity.queue = queue;
    screen.refresh();
    // On a terminal the footer says so, and how it changes.
    if (isNews && !screen.live && !quiet)
      screen.line(style.faint(`Queued, ${safeLine(describeQueue(queue))}`));
  }

  show(event: RunEvent): void {
    const { style, screen } = this.#options;
    this.#firstEventAt ??= event.timestamp;
    this.#activity.eventCame();
    switch (event.event) {
      case 'message.delta':
        this.#say(event);
        break;
      case 'reasoning.available':
        this.#lines(reasoningLines(event, style));
        break;
      case 'step.completed':
        this.#completeStep(event);
        break;
      case 'tool.started':
        this.#startTool(event);
        break;
      case 'tool.completed':
        this.#completeTool(event);
        break;
      case 'approval.request':
        this.#settleText();
        this.#activity.ask(event.tool_call_id);
        for (const line of questionLines(event, screen.columns, style)) screen.line(line);
        break;
      case 'approval.responded':
        this.#activity.answered();
        screen.line(respondedLine(event, style));
        break;
      case 'run.waiting':
        // On a terminal the footer says so.
        if (!screen.live) this.#lines([waitingLine(this.#activity.ofClient, style)]);
        break;
      case 'run.steered':
        this.#lines([steeredLine(event, style)]);
        break;
      case 'run.resumed':
        this.#resume(event);
        break;
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
        this.#end(event);
        break;
      // Events of a later version are ignored.
    }
  }

  end(run: Run): void {
    const event = { ...run, event: `run.${run.status}`, timestamp: run.updated_at ?? Date.now() / 1000 };
    this.show(event as unknown as TerminalEvent);
  }

  note(text: string): void {
    this.#options.screen.line(text);
  }

  stopping(): void {
    this.#activity.stopping = true;
    this.#options.screen.refresh();
  }

  connection(change: ConnectionChange): void {
    const { screen, style } = this.#options;
    const wasAway = this.#away;
    // If the first attempt to reconnect succeeds, no line is needed, and none is broken where there is no footer.
    this.#away = change.state === 'lost' && change.attempt > 1;
    this.#activity.connected = change.state === 'open';
    if (this.#away) screen.endText();
    screen.refresh();
    if (screen.live || this.#away === wasAway) return;
    screen.line(style.faint(this.#away ? 'Connection lost; trying again' : 'Connected again'));
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#options.screen[Symbol.dispose]();
  }

  /** Lines that a person who only wants the answer does not need. */
  #lines(lines: readonly string[]): void {
    this.#settleText();
    if (!this.#options.quiet) for (const line of lines) this.#options.screen.line(line);
  }

  #say(event: EventOf<'message.delta'>): void {
    this.#text.add(event);
    if (this.#options.answer === undefined) this.#options.screen.text(safeText(event.delta));
  }

  /** The step has ended: its text is final, and was not the answer. */
  #settleText(): void {
    const text = safeText(this.#text.take()).trim();
    this.#options.screen.endText();
    if (text === '' || this.#options.answer === undefined || this.#options.quiet) return;
    this.#options.screen.line(text);
  }

  #completeStep(event: EventOf<'step.completed'>): void {
    const { screen, style, verbose, quiet } = this.#options;
    if (!verbose || quiet) return;
    // The text of a step without calls may be the answer, which goes elsewhere.
    if (event.finish_reason === 'tool_calls') this.#settleText();
    else screen.endText();
    screen.line(stepLine(event, style));
  }

  #startTool(event: EventOf<'tool.started'>): void {
    const { screen, style } = this.#options;
    const { tool, preview = '' } = event;
    this.#activity.start(event);
    const line = toolLine({ mark: style.busy('>'), tool, preview, note: '' }, screen.columns, style);
    this.#lines(screen.live ? [] : [line]);
    screen.refresh();
  }

  #completeTool(event: EventOf<'tool.completed'>): void {
    const { screen, style, verbose } = this.#options;
    const preview = this.#activity.complete(event);
    this.#lines(completedToolLines(event, preview, { style, verbose, columns: screen.columns }));
    if (event.workspace_lost || event.workspace_restored) {
      screen.line(style.careful('↻ The sandbox was lost, and the run continues'));
      this.#tellFiles(event);
    }
    screen.refresh();
  }

  /** After the files of a run were lost with its machine or its sandbox. */
  #tellFiles(event: EventOf<'run.resumed'> | EventOf<'tool.completed'>): void {
    const { workspace_lost, workspace_restored, workspace_as_of_seq } = event;
    const { screen, style } = this.#options;
    if (workspace_lost) screen.line(style.careful('  in a new workspace, without the files it had made'));
    if (workspace_restored) {
      const older = workspace_as_of_seq === undefined ? '' : ', but for what its last tool calls changed';
      screen.line(style.careful(`  in a new workspace, with the files it had made${older}`));
    }
  }

  #resume(event: EventOf<'run.resumed'>): void {
    const { discard_from_seq } = event;
    const { screen, style, answer } = this.#options;
    const dropped = discard_from_seq === undefined ? '' : this.#text.discardFrom(discard_from_seq);
    const start = fit(safeLine(dropped), VOID_COLUMNS);
    screen.line(style.careful('↻ The server was restarted and the run continues'));
    this.#tellFiles(event);
    if (start !== '' && answer === undefined) {
      screen.line(style.careful(`  What it said since “${start}” is void and comes again:`));
    }
  }

  #end(event: TerminalEvent): void {
    const { screen, style, answer, quiet } = this.#options;
    const completed = event.event === 'run.completed';
    if (!completed) this.#settleText();
    const cutOff = this.#activity.cutOff(screen.columns);
    if (!quiet) for (const line of cutOff) screen.line(line);
    this.#ended = true;
    screen.refresh();
    if (completed) answer?.write(`${safeText(event.output ?? this.#text.take()).trimEnd()}\n`);
    if (completed && quiet) return;
    if (screen.live) screen.line('');
    screen.line(endLine(event, this.#createdAt ?? this.#firstEventAt, style));
  }

  #footer(columns: number): string[] {
    if (this.#ended) return [];
    const question = this.prompt?.rows() ?? [];
    return [...this.#activity.rows(columns, question.length > 0), ...question];
  }
}
