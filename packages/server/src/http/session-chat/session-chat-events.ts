/**
 * One turn of a session as a stream of named events, in Hermes's form. Each event has the session, the run, `seq` (from
 * 1) and `ts` in addition to its own fields. The stream begins with `run.started` and `message.started`, and always
 * ends with
 * `done`.
 *
 * Text that a restart interrupted is repeated after `run.resumed`; the text in `assistant.completed` counts. A failed
 * run is reported twice, as `error` and as `run.failed`: older clients know only the first.
 */
import {
  type EventPayload,
  isTerminalEvent,
  type Run,
  type SessionChatEvent,
  type TalariaError,
} from '@talaria/protocol';
import type { EventBatch } from '../../journal/feeds.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { interruption } from '../inline/run-failure.ts';
import { namedFrame } from '../streams/sse-frames.ts';
import type { StreamFormat } from '../streams/stream-format.ts';

type EventOf<N> = Extract<SessionChatEvent, { event: N }>;
/** Without the fields that every event has. */
type Fields<N> = Omit<EventOf<N>, 'event' | 'session_id' | 'run_id' | 'seq' | 'ts'>;

export class SessionChatEvents implements StreamFormat {
  readonly open: Buffer;
  readonly closed = Buffer.alloc(0);
  readonly #run: Run;
  readonly #messageId: string;
  /** The arguments of running tools, by call id. */
  readonly #calls = new Map<string, unknown>();
  /** The text of the present step. */
  #said: { seq: number; text: string }[] = [];
  #seq = 0;

  /** `said` is the user's message, unchanged. */
  constructor(run: Run, said: unknown) {
    this.#run = run;
    this.#messageId = run.run_id.replace('run_', 'msg_');
    const at = run.created_at * 1000;
    const message = { id: this.#messageId, role: 'assistant' as const };
    this.open = Buffer.from(
      this.#frame('run.started', { user_message: { role: 'user', content: said } }, at) +
        this.#frame('message.started', { message }, at),
    );
  }

  encode(batch: EventBatch): { bytes: Buffer; ended: boolean } {
    const text = batch.map((event) => this.#frames(event)).join('');
    return { bytes: Buffer.from(text), ended: isTerminalEvent(batch.at(-1)!.event) };
  }

  interrupted(reason: TalariaError): Buffer {
    const { code, message } = interruption(reason, this.#run.run_id);
    const now = Date.now();
    return Buffer.from(this.#frame('error', { message, code }, now) + this.#frame('done', {}, now));
  }

  #frames({ event, seq, at, payload: json }: StoredEvent): string {
    const payload: unknown = JSON.parse(json);
    const message_id = this.#messageId;
    switch (event) {
      case 'message.delta': {
        const { delta } = payload as EventPayload<'message.delta'>;
        this.#said.push({ seq, text: delta });
        return this.#frame('assistant.delta', { message_id, delta }, at);
      }
      case 'reasoning.available': {
        const { text } = payload as EventPayload<'reasoning.available'>;
        return this.#frame('tool.progress', { message_id, tool_name: '_thinking', delta: text }, at);
      }
      case 'tool.started': {
        this.#said = [];
        const { tool, preview, tool_call_id, arguments: args } = payload as EventPayload<'tool.started'>;
        this.#calls.set(tool_call_id, args);
        return this.#frame('tool.started', { message_id, tool_name: tool, tool_call_id, preview, args }, at);
      }
      case 'tool.completed': {
        const { tool, preview, tool_call_id, duration, error, exit_code } =
          payload as EventPayload<'tool.completed'>;
        const args = this.#calls.get(tool_call_id) ?? null;
        this.#calls.delete(tool_call_id);
        const outcome = { message_id, tool_name: tool, tool_call_id, preview, args, duration };
        const code = exit_code === undefined ? {} : { exit_code };
        return this.#frame(error ? 'tool.failed' : 'tool.completed', { ...outcome, ...code }, at);
      }
      case 'approval.request':
        return this.#frame(
          'approval.request',
          { message_id, ...(payload as EventPayload<typeof event>) },
          at,
        );
      case 'approval.responded':
        return this.#frame(
          'approval.responded',
          { message_id, ...(payload as EventPayload<typeof event>) },
          at,
        );
      case 'run.steered':
        this.#said = [];
        return '';
      case 'run.resumed': {
        const resumed = payload as EventPayload<'run.resumed'>;
        const { discard_from_seq: from = Number.POSITIVE_INFINITY } = resumed;
        this.#said = this.#said.filter(({ seq: said }) => said < from);
        return this.#frame('run.resumed', { message_id, ...resumed }, at);
      }
      case 'run.completed': {
        const { output, usage } = payload as EventPayload<'run.completed'>;
        return (
          this.#completed(output, 'whole', at) +
          this.#frame('run.completed', { message_id, completed: true, usage }, at) +
          this.#frame('done', {}, at)
        );
      }
      case 'run.failed': {
        const failure = payload as EventPayload<'run.failed'>;
        const { error, error_code } = failure;
        return (
          this.#frame('error', { message: error, code: error_code }, at) +
          this.#frame('run.failed', { message_id, completed: false, ...failure }, at) +
          this.#frame('done', {}, at)
        );
      }
      case 'run.cancelled': {
        const said = this.#said.map(({ text }) => text).join('');
        return (
          this.#completed(said, 'interrupted', at) +
          this.#frame('run.cancelled', { message_id, completed: false, ...(payload as object) }, at) +
          this.#frame('done', {}, at)
        );
      }
      // Hermes has no event for a step, and turns of a session have no client tools.
      case 'step.completed':
      case 'run.waiting':
        return '';
      default:
        event satisfies never;
        return '';
    }
  }

  #completed(content: string, end: 'whole' | 'interrupted', at: number): string {
    const interrupted = end === 'interrupted';
    const state = { completed: !interrupted, partial: interrupted, interrupted };
    return this.#frame('assistant.completed', { message_id: this.#messageId, content, ...state }, at);
  }

  #frame<N extends SessionChatEvent['event']>(name: N, fields: Fields<N>, at: number): string {
    const { session_id, run_id } = this.#run;
    this.#seq += 1;
    return namedFrame(name, { ...fields, session_id, run_id, seq: this.#seq, ts: at / 1000 });
  }
}
