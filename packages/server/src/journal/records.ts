/**
 * The kinds of facts in a run's journal.
 *
 * A record has a public payload (it is an event of the stream and has a `seq`), a private one (what recovery
 * needs), or both. Records without a public payload are not part of the stream: they have a position in the
 * journal but no `seq`, so the seqs a client sees have no gaps.
 *
 * The names and payloads are stored. A field may be added; none may change its meaning.
 */
import type {
  ApprovalRequest,
  ClientTools,
  Content,
  EventName,
  EventPayload,
  HistoryMessage,
  ModelSettings,
  OutputForm,
  Usage,
} from '@talaria/protocol';
import type { Checkpoint, CheckpointRecord } from './checkpoints.ts';
import type { AssistantPart, FinishReason, Message } from './messages.ts';
import type { WorkspaceSetup } from './workspace-setup.ts';

/** The client's terms for its run. A request that brings outputs of client tools replaces them. */
export interface RunTerms {
  instructions?: string;
  /** Tools that the client runs. */
  client_tools?: ClientTools;
  output_form?: OutputForm;
  /** Only the settings that the server lets clients set. */
  settings?: ModelSettings;
}

/** What the client asked for, as accepted. */
export interface RunRequest extends RunTerms {
  prompt: Content;
  /** The beginning of the prompt as it may be shown. */
  shown_input?: string;
  history?: HistoryMessage[];
  /** Messages before the prompt that follow the earlier conversation; `history` would replace it. */
  lead_in?: HistoryMessage[];
  /** Messages and calls after the prompt, from a run that no longer exists and that this run continues. */
  follow_up?: HistoryMessage[];
  /** The earlier conversation, if it is in another session: that of the response which this run continues. */
  context?: Message[];
  /** How many messages before `context` no model could take. */
  skipped?: number;
  /** The maximum number of messages that the run gets from its session. */
  max_context_messages?: number;
  /**
   * The system prompt of the session that the run works in or continues from without being in it. `instructions` begin
   * with it, and so do those of a later request that brings outputs of client tools.
   */
  session_prompt?: string;
  /** Whether the client named the session: only then may its transcript become the run's context. */
  session_named: boolean;
  /** The trace that the run belongs to, in W3C form. */
  traceparent?: string;
  /** A request waits for this run's answer. If outputs of client tools do not come in time, nobody is left to continue for. */
  inline?: true;
  /** What the workspace begins with. */
  workspace?: WorkspaceSetup;
  /** The run that this one is a fork of. */
  forked_from?: ForkSource;
  /** What a fork takes over from that run, beside its request. */
  inherited?: Inherited;
}

/** Where in the log of another run a fork begins. */
export interface ForkSource {
  run_id: string;
  /** The event that the client named; null if the run had none yet. */
  seq: number | null;
  /** The last record whose consequences the fork has. */
  pos: number;
}

/** A copy, so that the fork needs nothing from the other run, which may be evicted. */
export interface Inherited {
  /** What was said after the prompt. Every call has its result. */
  messages: Message[];
  /** The ids of those calls that the client ran. */
  client_calls: string[];
  /** The earlier turns, by their position in the session of the fork. */
  session?: ContextRange;
  /** Where the conversation is cut for the model. */
  cut?: ContextCut;
  /** The message of the user that the fork continues with. */
  input?: Content;
  /** The files that the workspace begins with. */
  files?: Checkpoint;
}

/**
 * The model gets only the system messages and the prompts among the first `before` messages of the conversation (earlier
 * turns, prompt and steps together). It does not get the others; there are `omitted` of them.
 */
export interface ContextCut {
  before: number;
  omitted: number;
}

/** Messages of the run's session by position; `to` is the one after the last. */
export interface ContextRange {
  from: number;
  to: number;
}

/** A gated call before it is asked about: an approval request without its deadline. */
export type QueuedApproval = Omit<ApprovalRequest, 'expires_at'>;

/** Private payloads, by record name. */
export interface PrivatePayloads {
  'run.accepted': RunRequest;
  'run.claimed': { epoch: number };
  /** The owner released the unfinished run in an orderly way. */
  'run.released': {
    epoch: number;
    /** The run waits for somebody outside: the next claim continues it and has nothing to recover. */
    parked?: true;
  };
  /**
   * The earlier turns of the session, fixed at the first claim so that recovery sees the same context: a range of the
   * session's transcript, or the messages themselves where they are in none. `skipped` are those before the range, of
   * which no model could be given anything.
   */
  'run.context': { messages: Message[] } | { session: ContextRange; skipped?: number };
  /**
   * Everything that `workspace` names is in place, over the files that the run inherits; before this record, whatever is there is
   * deleted. `undone`: it was lost before a call had used it, and has to be put in place again.
   */
  'workspace.prepared': { mounted?: string | undefined; undone?: true };
  /** The files of the run, as they are kept, or that they were not. */
  'workspace.checkpointed': CheckpointRecord;
  /** The conversation got too long for the model: it is cut from now on. */
  'context.cut': ContextCut;
  /** The server's message to the model. It joins the conversation once no call waits for its result. */
  'run.noticed': { text: string };
  'step.completed': { content: AssistantPart[]; usage: Usage; reason: FinishReason };
  /** The answer does not match the client's schema. The model is told what is wrong and tries again. */
  'answer.refused': { problem: string };
  /**
   * A gated call is not running yet when it has started; an ungated one is. A call of a client tool waits for its output
   * until `expires_at` (in seconds); its arguments are kept whole here.
   */
  'tool.started': { gated: boolean; client?: { arguments: Record<string, unknown>; expires_at: number } };
  'approval.queued': { approvals: QueuedApproval[] };
  /** A queued approval that is no longer needed, because its pattern was granted meanwhile. */
  'approval.waived': { request_id: string };
  'approval.responded': { request_ids: string[] };
  /** The intent to run a gated call, after its approval. */
  'tool.executing': { tool_call_id: string };
  'tool.completed': { output: string; interrupted?: boolean };
  /**
   * The output of a client tool. The owner of the run then records the outcome as `tool.completed`. From the next step on
   * `terms` replace all earlier ones.
   */
  'tool.answered': {
    tool_call_id: string;
    output: string;
    error: boolean;
    reason?: 'timeout';
    terms?: RunTerms;
  };
  'stop.requested': Record<never, never>;
  'steer.requested': { input: string };
  'run.steered': { steer_pos: number };
}

type PrivateName = keyof PrivatePayloads;
export type RecordName = EventName | PrivateName;

type Public<N> = N extends EventName ? { public: EventPayload<N> } : { public?: undefined };
type Private<N> = N extends PrivateName ? { private: PrivatePayloads[N] } : { private?: undefined };

/** A record to be appended. */
export type NewRecord = { [N in RecordName]: { event: N } & Public<N> & Private<N> }[RecordName];

/** Earlier versions appended these without a public payload. Their records stay as they are, so no seq changes. */
type OncePrivate = 'step.completed';
type ReadPublic<N> = N extends OncePrivate & EventName ? { public?: EventPayload<N> | undefined } : Public<N>;

/** A record as read back: `pos` counts all records of the run from 0, `seq` only the public ones. */
export type LogRecord = {
  [N in RecordName]: { event: N } & ReadPublic<N> & Private<N>;
}[RecordName] & { pos: number; seq: number | null; at: number };

/** Records that anyone may add to a run, whoever owns it. The index `records_posted` of Postgres names the same ones. */
export const POSTED_NAMES = [
  'stop.requested',
  'steer.requested',
  'approval.responded',
  'tool.answered',
] as const satisfies RecordName[];

export type PostedName = (typeof POSTED_NAMES)[number];

const POSTED: ReadonlySet<string> = new Set(POSTED_NAMES);

export function isPosted(name: string): name is PostedName {
  return POSTED.has(name);
}
