/**
 * Forks runs. A fork is a new run with a copy of what it needs, so that whatever becomes of the other run,
 * or of its session, does not affect it. The other run is only read.
 */
import {
  type Content,
  createRunId,
  type ForkRun,
  isTerminalEvent,
  type RunCreated,
  TalariaError,
} from '@talaria/protocol';
import { beforeFailedAnswer, type ForkPoint, forkPoint } from '../agent/fork-point.ts';
import type { Progress } from '../agent/progress.ts';
import type { Checkpoints } from '../checkpoints/checkpoint-tree.ts';
import { checkpointAt } from '../checkpoints/stored-checkpoints.ts';
import { type Checkpoint, isMissed } from '../journal/checkpoints.ts';
import { type HeldBlob, runHolder, type SharedBlob } from '../journal/contents.ts';
import type { Journal, NewRun } from '../journal/journal.ts';
import type { Webhook } from '../journal/outbox.ts';
import type { LogRecord, RunRequest } from '../journal/records.ts';
import type { StoredRun } from '../journal/run-state.ts';
import type { SessionOfRun } from '../journal/sessions.ts';
import type { SetupFile, WorkspaceSetup } from '../journal/workspace-setup.ts';
import type { ResolveRequest } from '../setup/resolve-workspace.ts';
import { toForkRequest } from './fork-request.ts';
import { findRun } from './run-access.ts';
import { type Idempotency, type RunCreation, toKey } from './run-creation.ts';
import { findContext, lacksContext } from './session-context.ts';
import { type FoundFiles, findSessionFiles } from './session-files.ts';
import { shownInput } from './shown-input.ts';

export interface RunForksOptions {
  journal: Journal;
  creation: RunCreation;
  /** The webhook for a run that asks for none. */
  defaultWebhook(): Webhook | undefined;
  /** How many tokens of earlier messages a run gets, by estimate; 0 means all. */
  contextTokens: number;
  /** Masks a text that is shown. */
  mask(text: string): string;
  resolveRequest: ResolveRequest;
  /** Undefined if the server keeps none. */
  checkpoints: Checkpoints | undefined;
  /** Whether the runs of a session continue with each other's files. */
  sharesSessionFiles: boolean;
}

/** What a fork needs beside its id and its owner. */
type PreparedFork = Pick<NewRun, 'request' | 'blobs' | 'sessionFork'>;

export class RunForks {
  readonly #options: RunForksOptions;

  constructor(options: RunForksOptions) {
    this.#options = options;
  }

  /**
   * A new run that continues from an event of this one. The same key returns the same fork even if the
   * run could no longer be forked like this, because it has continued since.
   */
  async fork(
    owner: string,
    sourceId: string,
    asked: ForkRun,
    idempotency?: Idempotency,
    traceparent?: string,
  ): Promise<RunCreated> {
    const { journal, creation, defaultWebhook } = this.#options;
    const source = await findRun(journal, owner, sourceId);
    const key = idempotency && toKey(idempotency);
    const runId = createRunId();
    try {
      const { request, ...prepared } = await this.#prepare(source, asked);
      return await creation.accept({
        ...prepared,
        runId,
        owner,
        sessionId: runId,
        request: { ...request, ...(traceparent === undefined ? {} : { traceparent }) },
        idempotency: key,
        webhook: defaultWebhook(),
      });
    } catch (error) {
      const known = key && (await journal.findKey(owner, key.key));
      if (known === undefined || known.bodyHash !== key?.bodyHash) throw toForkRefusal(error, source);
      return { run_id: known.runId, status: known.status, replayed: true };
    }
  }

  /** Rejects with the reason why the run cannot be forked like this. */
  async #prepare(source: StoredRun, { at, input, instructions }: ForkRun): Promise<PreparedFork> {
    const seq = expectEvent(source, at);
    const log = await this.#options.journal.readLog(source.runId, -1);
    if (log.length === 0) {
      throw new TalariaError('run_not_found', { message: `Run not found: ${source.runId}` });
    }
    const point = choosePoint(log, seq, input !== undefined);
    await this.#completeContext(source, log, point);
    const { next, files, blobs } = await this.#readInput(source.owner, input);
    const from = { run_id: source.runId, seq: seq === -1 ? null : seq };
    const request = toForkRequest(point, from, { next, instructions });
    const found = await this.#filesAt(source, log, point);
    const inherited = found === undefined ? [] : await this.#checkpointBlobs(found);
    const held = [...setupBlobs(source.runId, request.workspace), ...inherited, ...blobs];
    return {
      request: withFiles(inheriting(request, found?.checkpoint), files),
      blobs: [...new Map(held.map((blob) => [blob.blobId, blob])).values()],
      sessionFork: sessionOf(
        source,
        request,
        found && { ...found, blobIds: inherited.map(({ blobId }) => blobId) },
      ),
    };
  }

  /** The files of the run at that point; undefined if it had none. */
  async #filesAt(
    source: StoredRun,
    log: readonly LogRecord[],
    { pos, progress }: ForkPoint,
  ): Promise<FoundFiles | undefined> {
    const { checkpoints, journal, sharesSessionFiles } = this.#options;
    const { request } = progress;
    const records = log.flatMap((record) =>
      record.event === 'workspace.checkpointed' ? [record.private] : [],
    );
    const checkpoint = checkpointAt(records, pos) ?? request?.inherited?.files;
    if (checkpoints === undefined ? hasCalled(progress) : checkpoint !== undefined && isMissed(checkpoint)) {
      throw new TalariaError('checkpoint_gone');
    }
    if (checkpoints === undefined) return undefined;
    if (checkpoint !== undefined && !isMissed(checkpoint)) {
      return { checkpoint, holder: runHolder(source.runId) };
    }
    // A run looks for the files of its session after it was claimed for the first time, and records what it finds. Until it
    // has begun, it finds what is found now.
    const hasBegun = log.some(({ event }) => event === 'workspace.prepared' || event === 'step.completed');
    if (hasBegun || hasEnded(log, progress) || !sharesSessionFiles || request === undefined) return undefined;
    return findSessionFiles(journal, source, request);
  }

  async #checkpointBlobs({ checkpoint, holder: from }: FoundFiles): Promise<SharedBlob[]> {
    const blobIds = await this.#options.checkpoints?.blobsOf(checkpoint);
    return (blobIds ?? []).map((blobId) => ({ blobId, from }));
  }

  /** The message as the model gets it, and its files for the workspace. */
  async #readInput(owner: string, input: Content | undefined) {
    if (input === undefined) return { next: undefined, files: [], blobs: [] };
    const { resolveRequest, mask } = this.#options;
    const { request, workspace } = await resolveRequest(owner, { prompt: input });
    const next = { input: request.prompt, shown: shownInput(request.prompt, mask) };
    return { next, files: workspace?.setup.files ?? [], blobs: workspace?.blobs ?? [] };
  }

  /**
   * A run reads its session when it is claimed for the first time. The fork of a run that has not done so gets what the
   * run would get now.
   */
  async #completeContext(
    source: StoredRun,
    log: readonly LogRecord[],
    { progress }: ForkPoint,
  ): Promise<void> {
    const hasLooked = log.some(({ event }) => event === 'run.context' || event === 'step.completed');
    if (hasLooked || hasEnded(log, progress) || !lacksContext(progress)) return;
    const { journal, contextTokens: maxTokens } = this.#options;
    const maxMessages = progress.request?.max_context_messages;
    const found = await findContext(journal, source, { maxTokens, maxMessages });
    if (found !== undefined) progress.takeContext(found);
  }
}

/** The seq of the event; -1 for the last event of a run that has none. */
function expectEvent({ nextSeq }: StoredRun, at = nextSeq - 1): number {
  if (at < nextSeq) return at;
  const last = nextSeq === 0 ? 'the run has no event yet' : `the last event of the run is ${nextSeq - 1}`;
  throw new TalariaError('invalid_cursor', { message: `There is no event ${at}: ${last}`, param: 'at' });
}

function choosePoint(log: readonly LogRecord[], seq: number, hasInput: boolean): ForkPoint {
  const point = forkPoint(log, seq);
  if (hasInput || point.progress.answer === undefined) return point;
  const retried = beforeFailedAnswer(log, point);
  if (retried !== undefined) return retried;
  throw new TalariaError('missing_input', {
    message:
      "Missing 'input' field: at that event the conversation ends with the model's answer, so a fork needs the next " +
      "message of the user; without one, go back to an earlier event with 'at'",
    param: 'input',
  });
}

/** The run ended after a worker had claimed it. A run that was stopped while it waited never looked at its session. */
function hasEnded(log: readonly LogRecord[], { claims }: Progress): boolean {
  return claims > 0 && isTerminalEvent(log.at(-1)?.event ?? '');
}

/** Whether a tool of the server was called. */
function hasCalled(progress: Progress): boolean {
  return progress.callsBefore().some(({ ofClient }) => ofClient !== true);
}

function inheriting(request: RunRequest, files: Checkpoint | undefined): RunRequest {
  const { inherited } = request;
  if (inherited === undefined || files === undefined) return request;
  // A fork never works in a directory of the operator: it begins with the files of that time, and the directory has today's.
  const { mounted, ...copied } = files;
  return { ...request, inherited: { ...inherited, files: copied } };
}

/** The request with these files on top of what the workspace begins with. */
function withFiles(request: RunRequest, files: readonly SetupFile[]): RunRequest {
  if (files.length === 0) return request;
  const { workspace = {} } = request;
  return { ...request, workspace: { ...workspace, files: [...(workspace.files ?? []), ...files] } };
}

/** The blobs of the other run that the fork needs, too. */
function setupBlobs(runId: string, { files = [], archives = [] }: WorkspaceSetup = {}): HeldBlob[] {
  const ids = [...files, ...archives].flatMap((file) => ('blob_id' in file ? [file.blob_id] : []));
  return [...new Set(ids)].map((blobId) => ({ blobId, from: runHolder(runId) }));
}

/** The fork's session begins with the fork's files: a fork that does not change them gives its session none. */
function sessionOf(
  { runId }: StoredRun,
  request: RunRequest,
  found: (FoundFiles & { blobIds: string[] }) | undefined,
): SessionOfRun | undefined {
  if (!request.session_named) return undefined;
  const upTo = request.inherited?.session?.to ?? 0;
  if (found === undefined) return { runId, upTo, files: null };
  const { checkpoint, holder, blobIds } = found;
  // The files are not the run's own. Without `files` the new session begins with what the session of the run has now.
  if (holder !== runHolder(runId)) return { runId, upTo };
  return { runId, upTo, files: { files: { run_id: runId, checkpoint }, blobIds } };
}

/** The session of the other run was deleted, and with it the conversation before that run. */
function toForkRefusal(error: unknown, { sessionId }: StoredRun): unknown {
  if (!(error instanceof TalariaError) || error.code !== 'session_not_found') return error;
  const message = `What was said before the run is gone: the session '${sessionId}' was deleted`;
  return new TalariaError('checkpoint_gone', { message });
}
