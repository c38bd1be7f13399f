/** The log of each run: whole, once, the same for everybody, and with one end that is last. */
import { isTerminalEvent, type RunEvent } from '@talaria/protocol';
import type { Evidence, Violation } from '../../evidence.ts';
import { type KnownRun, knownRuns, mayFail } from '../known-run.ts';
import type { Observation } from '../observation.ts';

export function checkLogs(evidence: Evidence, observation: Observation): Violation[] {
  return knownRuns(evidence, observation).flatMap((run) => [
    ...checkOrder(run),
    ...checkReads(run),
    ...checkEnd(run, evidence),
    ...checkText(run),
  ]);
}

function checkOrder({ id, events, observed }: KnownRun): Violation[] {
  if (observed === undefined) return [{ rule: 'no run is lost', of: id, what: 'it cannot be read' }];
  const gap = events.findIndex(({ seq }, index) => seq !== index);
  const ends = events.filter(({ event }) => isTerminalEvent(event));
  const last = events.at(-1);
  return [
    ...(gap === -1
      ? []
      : [{ rule: 'no gap in a log', of: id, what: `expected seq ${gap}, got ${events[gap]?.seq}` }]),
    ...(ends.length === 1 && ends[0] === last
      ? []
      : [
          {
            rule: 'one end, which is last',
            of: id,
            what: `${ends.map(({ event, seq }) => `${event} at ${seq}`).join(', ') || 'no end'}; the last event is ${last?.event} at ${last?.seq}`,
          },
        ]),
  ];
}

/** What the client saw, before and after any kill, is what every server says now. */
function checkReads({ id, observed, evidence: { seen } }: KnownRun): Violation[] {
  const reads = observed?.reads ?? [];
  return reads.flatMap(({ data, clean }, server) => {
    const differs = seen.findIndex((text, index) => text !== data[index]);
    const what =
      differs === -1 && data.length > seen.length
        ? `the client never saw event ${seen.length}: ${data[seen.length]}`
        : `event ${differs} was ${seen[differs]} and is ${data[differs]}`;
    return [
      ...(differs === -1 && data.length === seen.length
        ? []
        : [{ rule: 'every read is the same', of: id, what: `read ${server + 1}: ${what}` }]),
      ...(clean ? [] : [{ rule: 'every read is the same', of: id, what: `read ${server + 1} broke off` }]),
    ];
  });
}

function checkEnd(
  { id, end, evidence: { stop, texts }, observed, events }: KnownRun,
  { disruptions }: Evidence,
) {
  if (end === undefined || observed === undefined) return [];
  const violations: Violation[] = [];
  const broken = (what: string) => violations.push({ rule: 'a run ends as it should', of: id, what });
  const { status, output } = observed.run;
  if (end.event !== `run.${status}`) broken(`its stream ends with ${end.event}, and its status is ${status}`);
  if (end.event === 'run.failed') {
    if (!mayFail(end, observed.run.created_at, disruptions))
      broken(`it failed as ${end.error_code}: ${end.error}`);
  } else if (stop === 'accepted' && end.event !== 'run.cancelled') {
    broken(`its stop was accepted, and it ended with ${end.event}`);
  } else if (stop === 'never asked' && end.event !== 'run.completed') {
    broken(`nobody stopped it, and it ended with ${end.event} after ${events.length} events`);
  }
  if (end.event === 'run.completed') {
    if (end.output !== texts.at(-1)?.trim() && end.output !== texts.at(-1))
      broken(`its answer is ${end.output}`);
    if (output !== end.output) broken(`its poll says ${output}, its stream ${end.output}`);
  }
  return violations;
}

/** What a client shows that drops what `run.resumed` tells it to drop. */
function checkText({ id, end, events, evidence: { texts, reasoning } }: KnownRun): Violation[] {
  if (end?.event !== 'run.completed') return [];
  let shown: RunEvent[] = [];
  for (const event of events) {
    if (event.event === 'message.delta' || event.event === 'reasoning.available') shown.push(event);
    if (event.event !== 'run.resumed') continue;
    const from = event.discard_from_seq ?? event.seq;
    shown = shown.filter(({ seq }) => seq < from);
  }
  const text = shown.map((event) => (event.event === 'message.delta' ? event.delta : '')).join('');
  const thoughts = shown.map((event) => (event.event === 'reasoning.available' ? event.text : '')).join('');
  const rule = 'the text is said once';
  return [
    ...(text === texts.join('') ? [] : [{ rule, of: id, what: `expected ${texts.join('')}, got ${text}` }]),
    ...(thoughts === reasoning.join('')
      ? []
      : [{ rule, of: id, what: `expected the thoughts ${reasoning.join('')}, got ${thoughts}` }]),
  ];
}
