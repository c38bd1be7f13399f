/** What is beside the runs: uploads, slots, messages to receivers, leases; and that all of it could be read. */
import { isDeepStrictEqual } from 'node:util';
import { isTerminalEvent } from '@talaria/protocol';
import type { Evidence, Violation } from '../../evidence.ts';
import { knownRuns } from '../known-run.ts';
import type { Observation } from '../observation.ts';

export function checkThings(evidence: Evidence, observation: Observation): Violation[] {
  return [
    ...checkUploads(evidence, observation),
    ...checkSlots(evidence, observation),
    ...checkWebhooks(evidence, observation),
    ...checkWork(observation),
    ...observation.unreadable.map(({ of, what }) => ({ rule: 'everything can be read', of, what })),
  ];
}

function checkUploads({ uploads, runs }: Evidence, observation: Observation): Violation[] {
  const rule = 'an upload keeps its bytes';
  return [
    ...uploads.flatMap(({ id, sha256, deletion }) => {
      const found = observation.uploads[id];
      if (found === undefined) return [];
      if (deletion === 'confirmed') {
        return found.status === 404 ? [] : [{ rule, of: id, what: `it was deleted, and is ${found.status}` }];
      }
      const isRight = found.sha256 === sha256 || (deletion === 'asked' && found.status === 404);
      return isRight
        ? []
        : [{ rule, of: id, what: `expected ${sha256}, got ${found.status} ${found.sha256}` }];
    }),
    ...runs.flatMap(({ ids: [id = ''], upload }) => {
      const observed = observation.runs[id];
      if (upload === undefined || observed === undefined) return [];
      const isThere = observed.upload === upload.sha256;
      return isThere
        ? []
        : [{ rule, of: id, what: `its ${upload.path} is ${observed.upload}, not ${upload.sha256}` }];
    }),
  ];
}

function checkSlots({ slots }: Evidence, observation: Observation): Violation[] {
  return slots.flatMap(({ trajectory, kept }) => {
    const files = observation.slots[trajectory];
    const missing = files === undefined ? [] : kept.filter((mark) => !files.includes(`made/${mark}`));
    const what = `its calls succeeded, and their files are missing: ${missing.join(', ')}`;
    return missing.length === 0 ? [] : [{ rule: 'a trajectory keeps its files', of: trajectory, what }];
  });
}

/** At least one message for each question and each end, with the event as the stream has it, and always the same id. */
function checkWebhooks(evidence: Evidence, observation: Observation): Violation[] {
  const rule = 'a receiver is told, with the same id';
  const violations: Violation[] = [];
  const received = Map.groupBy(evidence.webhooks, ({ message }) => message.id);
  const expected = new Set<string>();
  for (const { id, events, evidence: run } of knownRuns(evidence, observation)) {
    if (!run.webhook || run.fork !== undefined) continue;
    for (const event of events) {
      if (event.event !== 'approval.request' && !isTerminalEvent(event.event)) continue;
      const messageId = `evt_${id.slice('run_'.length)}_${event.seq}`;
      expected.add(messageId);
      const messages = received.get(messageId) ?? [];
      if (messages.length === 0)
        violations.push({ rule, of: id, what: `${messageId} (${event.event}) never came` });
      for (const { header, message } of messages) {
        if (
          header !== message.id ||
          message.type !== event.event ||
          !isDeepStrictEqual(message.data, event)
        ) {
          violations.push({ rule, of: id, what: `${messageId} says ${JSON.stringify(message)}` });
        }
      }
    }
  }
  for (const messageId of received.keys()) {
    if (!expected.has(messageId)) violations.push({ rule, of: messageId, what: 'it tells of no event' });
  }
  return violations;
}

function checkWork({ leased, queued }: Observation): Violation[] {
  return leased + queued === 0
    ? []
    : [
        {
          rule: 'nothing is left over',
          of: 'the servers',
          what: `${leased} runs are leased, ${queued} wait`,
        },
      ];
}
