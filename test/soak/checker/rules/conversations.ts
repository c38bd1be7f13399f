/** What was said: sessions have their turns in order and whole, and forks begin with what they promise. */
import type { SessionMessage } from '@talaria/protocol';
import type { Evidence, Violation } from '../../evidence.ts';
import { type KnownRun, knownRuns, LEAVES_FILE, madeCalls, saysMissing } from '../known-run.ts';
import type { Observation } from '../observation.ts';

export function checkConversations(evidence: Evidence, observation: Observation): Violation[] {
  const runs = knownRuns(evidence, observation);
  return [
    ...evidence.sessions.flatMap((session) => checkSession(session, runs, observation)),
    ...runs.flatMap((run) => checkTurn(run)),
    ...runs.flatMap((run) => checkFork(run, runs)),
  ];
}

function checkSession(
  { id, runs: accepted }: Evidence['sessions'][number],
  runs: readonly KnownRun[],
  { sessions }: Observation,
): Violation[] {
  const rule = 'a session has its turns in order';
  const messages = sessions[id] ?? [];
  const completed = accepted.filter(
    (runId) => runs.find((run) => run.id === runId)?.end?.event === 'run.completed',
  );
  const told = messages
    .map(({ run_id }) => run_id)
    .filter((runId, i, all) => i === 0 || runId !== all[i - 1]);
  const gap = messages.findIndex(({ index }, i) => index !== i);
  return [
    ...(gap === -1
      ? []
      : [{ rule, of: id, what: `expected the message ${gap}, got ${messages[gap]?.index}` }]),
    ...(told.join() === completed.join()
      ? []
      : [{ rule, of: id, what: `expected the turns ${completed.join()}, got ${told.join()}` }]),
    ...overlaps(id, accepted, runs),
  ];
}

/** Runs of a session work one at a time, in the order in which they were accepted. */
function overlaps(
  id: string,
  accepted: readonly (string | undefined)[],
  runs: readonly KnownRun[],
): Violation[] {
  const turns = accepted.flatMap((runId) => runs.find((run) => run.id === runId) ?? []);
  return turns.slice(1).flatMap((turn, i) => {
    const before = turns[i]!.end;
    const [first] = turn.events;
    // A run that is stopped before its turn ends out of turn.
    if (before === undefined || first === undefined || turn.evidence.stop !== 'never asked') return [];
    const what = `${turn.id} began at ${first.timestamp}, ${turns[i]!.id} ended at ${before.timestamp}`;
    return first.timestamp < before.timestamp
      ? [{ rule: 'a session has its turns in order', of: id, what }]
      : [];
  });
}

/** The messages that a completed run adds: each text once, and for each call one result. */
function checkTurn({ id, end, events, evidence, observed }: KnownRun): Violation[] {
  if (end?.event !== 'run.completed' || observed === undefined) return [];
  const rule = 'what was said is kept once';
  const own = observed.messages.filter(({ run_id }) => run_id === id);
  if (evidence.session === undefined && evidence.fork === undefined) return [];
  const violations: Violation[] = [];
  for (const text of evidence.texts) {
    const times = own.filter((message) => isSaid(message, text)).length;
    if (times !== 1) violations.push({ rule, of: id, what: `${text} is there ${times} times` });
  }
  for (const { call, started } of madeCalls(evidence.calls, events)) {
    const results = own.filter(({ tool_call_id }) => tool_call_id === started[0]?.tool_call_id).length;
    if (results !== 1) violations.push({ rule, of: id, what: `${call.mark} has ${results} results` });
  }
  return violations;
}

function isSaid({ role, content }: SessionMessage, text: string): boolean {
  return role === 'assistant' && typeof content === 'string' && content.trim() === text.trim();
}

function checkFork(fork: KnownRun, runs: readonly KnownRun[]): Violation[] {
  const promised = fork.evidence.fork;
  const source = runs.find(({ id }) => id === promised?.of);
  if (promised === undefined || source === undefined || fork.observed === undefined) return [];
  const rule = 'a fork begins with what it promises';
  const violations: Violation[] = [];
  const { forked_from } = fork.observed.run;
  const at = promised.at ?? source.events.at(-1)?.seq;
  if (forked_from?.run_id !== source.id || forked_from?.seq !== at) {
    violations.push({
      rule,
      of: fork.id,
      what: `it comes from ${JSON.stringify(forked_from)}, not from ${at}`,
    });
  }
  if (fork.end?.event !== 'run.completed' || source.end?.event !== 'run.completed') return violations;
  for (const [step, text] of source.evidence.texts.entries()) {
    const times = fork.observed.messages.filter((message) => isSaid(message, text)).length;
    const expected = step < promised.steps ? 1 : 0;
    if (times !== expected) {
      violations.push({
        rule,
        of: fork.id,
        what: `expected ${text} ${expected} times, got it ${times} times`,
      });
    }
  }
  const calls = source.evidence.calls.filter(({ step }) => step < promised.steps);
  for (const { call, completed } of madeCalls(calls, source.events)) {
    const [outcome] = completed;
    if (outcome === undefined || outcome.error || !LEAVES_FILE.includes(call.manner)) continue;
    if (fork.observed.files?.includes(`made/${call.mark}`)) continue;
    if (saysMissing(source.events, outcome.seq) || saysMissing(fork.events, 0)) continue;
    violations.push({ rule, of: fork.id, what: `made/${call.mark} is missing` });
  }
  return violations;
}
