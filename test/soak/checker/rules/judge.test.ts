/** Each rule can fail: sound evidence breaks none, and evidence with one fault breaks the rule of that fault. */
import { createHash } from 'node:crypto';
import type { Run, RunEvent, SessionMessage, WebhookMessage } from '@talaria/protocol';
import { describe, expect, test } from 'vitest';
import { clientOutput, type Evidence, type RunEvidence } from '../../evidence.ts';
import type { Observation, ObservedRun } from '../observation.ts';
import { judge } from './judge.ts';

const RUN = 'run_1';
const FORK = 'run_2';
const JOB_RUN = 'run_3';
const TEXTS = ['First. ', 'Second. '];
const BYTES = createHash('sha256').update('bytes').digest('hex');

type Fault = (evidence: Evidence, observation: Observation) => void;

/** A run with a plain, a denied and a client's call, its fork, a job, an upload and a slot. */
function sound(): { evidence: Evidence; observation: Observation } {
  const events = logOf(RUN);
  const data = events.map((event) => JSON.stringify(event));
  const messages = [
    ...[
      said(TEXTS[0]!),
      result('call-plain'),
      result('call-denied'),
      result('call-client', clientOutput('client1')),
    ],
    said(TEXTS[1]!),
  ].map((message, index) => ({ ...message, index, run_id: RUN }) as SessionMessage);
  const forkEvents = [event(FORK, 0, { event: 'run.completed', output: 'Forked. ', usage: USAGE })];
  forkEvents.unshift(event(FORK, 0, { event: 'message.delta', delta: 'Forked. ' }));
  forkEvents[1] = { ...forkEvents[1]!, seq: 1 };
  const forkData = forkEvents.map((each) => JSON.stringify(each));
  const call = { step: 0 } as const;
  const evidence: Evidence = {
    ...{ seed: 1, round: 0, store: 'sqlite', apiKey: 'key', urls: [], unexpected: [] },
    disruptions: [{ number: 1, how: 'kill', target: 'server 1', from: 1_000, to: 1_001 }],
    runs: [
      {
        ...runEvidence('script1', [RUN, RUN], data),
        texts: TEXTS,
        calls: [
          { ...call, mark: 'plain1', manner: 'plain' },
          { ...call, mark: 'denied1', manner: 'denied' },
          { ...call, mark: 'client1', manner: 'client' },
        ],
        webhook: true,
        approved: { 'apr-1': 'deny' },
        session: 'talk',
        upload: { path: 'data.bin', sha256: BYTES },
      },
      {
        ...runEvidence('script2', [FORK], forkData),
        texts: ['Forked. '],
        fork: { of: RUN, at: undefined, steps: 2 },
      },
    ],
    sessions: [{ id: 'talk', runs: [RUN] }],
    jobs: [{ work: 'job', script: 'script3', id: 'job-1', texts: ['Done. '], calls: [] }],
    interval: { id: 'job-2', script: 'script4', first: 2_000, deleted: 2_100 },
    uploads: [{ id: 'file-1', bytes: 5, sha256: BYTES, deletion: 'never asked' }],
    slots: [{ trajectory: 'task', server: 0, kept: ['slot1'], sent: ['slot1', 'slot2'] }],
    webhooks: events
      .filter(({ event: name }) => name === 'approval.request' || name === 'run.completed')
      .map((each) => ({ header: `evt_1_${each.seq}`, message: message(each) })),
    marks: [
      { mark: 'plain1', moment: '1.5' },
      { mark: 'slot1', moment: '2.5' },
    ],
  };
  const observation: Observation = {
    runs: {
      [RUN]: { ...observed(RUN, data, TEXTS[1]!), messages, files: ['made', 'made/plain1'], upload: BYTES },
      [FORK]: {
        ...observed(FORK, forkData, 'Forked. '),
        messages: [...messages, { ...said('Forked. '), index: 5, run_id: FORK } as SessionMessage],
        files: ['made', 'made/plain1'],
      },
    },
    listed: [
      { run_id: RUN, input: 'SCRIPT id=script1 []', status: 'completed' },
      { run_id: FORK, input: 'SCRIPT id=script2 []', status: 'completed' },
      { run_id: JOB_RUN, input: 'SCRIPT id=script3 []', status: 'completed', job_id: 'job-1' },
      {
        run_id: 'run_4',
        input: 'SCRIPT id=script4 []',
        status: 'completed',
        job_id: 'job-2',
        created_at: 2_000.2,
      },
      {
        run_id: 'run_5',
        input: 'SCRIPT id=script4 []',
        status: 'completed',
        job_id: 'job-2',
        created_at: 2_062,
      },
    ].map((run) => ({ created_at: 999, ...run }) as Observation['listed'][number]),
    sessions: { talk: messages },
    jobs: [],
    uploads: { 'file-1': { status: 200, sha256: BYTES } },
    slots: { task: ['made', 'made/slot1'] },
    ...{ marks: [], leased: 0, queued: 0, unreadable: [] },
  };
  observation.runs[FORK]!.run.forked_from = { run_id: RUN, seq: events.length - 1 };
  return { evidence, observation };
}

const USAGE = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };

function event(runId: string, seq: number, fields: object): RunEvent {
  return { run_id: runId, timestamp: 1_000 + seq / 10, seq, ...fields } as RunEvent;
}

function logOf(runId: string): RunEvent[] {
  const started = (id: string, mark: string) => ({
    ...{ event: 'tool.started', tool: 'terminal', preview: mark, tool_call_id: id },
    arguments: { command: `echo ${mark}` },
  });
  const completed = (id: string, preview: string, error = false) => ({
    ...{ event: 'tool.completed', tool: 'terminal', duration: 0, error, preview, tool_call_id: id },
  });
  return [
    { event: 'message.delta', delta: TEXTS[0] },
    { event: 'step.completed', step: 1, duration: 1, usage: USAGE, finish_reason: 'tool_calls' },
    started('call-plain', 'plain1'),
    started('call-denied', 'denied1'),
    started('call-client', 'client1'),
    { event: 'approval.request', request_id: 'apr-1', tool_call_id: 'call-denied' },
    { event: 'approval.responded', request_id: 'apr-1', choice: 'deny', resolved: 1 },
    completed('call-denied', 'refused', true),
    completed('call-plain', ''),
    completed('call-client', clientOutput('client1')),
    { event: 'message.delta', delta: 'Sec' },
    { event: 'run.resumed', discard_from_seq: 10 },
    { event: 'message.delta', delta: TEXTS[1] },
    { event: 'step.completed', step: 2, duration: 1, usage: USAGE, finish_reason: 'stop' },
    { event: 'run.completed', output: TEXTS[1], usage: USAGE },
  ].map((fields, seq) => event(runId, seq, fields));
}

function runEvidence(script: string, ids: string[], seen: string[]): RunEvidence {
  return {
    ...{ work: script, script, ids, seen, texts: [], reasoning: [], calls: [], webhook: false },
    ...{ stop: 'never asked', approved: {} },
  };
}

function observed(runId: string, data: string[], output: string): ObservedRun {
  const run = { run_id: runId, status: 'completed', output, created_at: 999 } as Run;
  const reads = [1, 2].map(() => ({ data: [...data], clean: true }));
  return { run, reads, messages: [], files: [] };
}

function said(content: string) {
  return { role: 'assistant', content };
}

function result(id: string, content = '') {
  return { role: 'tool', tool_call_id: id, content };
}

function message(data: RunEvent): WebhookMessage {
  return { id: `evt_1_${data.seq}`, type: data.event, data } as WebhookMessage;
}

/** Changes an event in every read and in what the client saw. */
function change(index: number, fields: object): Fault {
  return (evidence, observation) => {
    const edit = (all: string[]) => {
      all[index] = JSON.stringify({ ...JSON.parse(all[index]!), ...fields });
    };
    edit(evidence.runs[0]!.seen);
    for (const { data } of observation.runs[RUN]!.reads) edit(data);
  };
}

function insert(index: number, fields: object): Fault {
  return (evidence, observation) => {
    const edit = (all: string[]) => {
      const events = all.map((text) => JSON.parse(text) as RunEvent);
      events.splice(index, 0, event(RUN, index, fields));
      return events.map((each, seq) => JSON.stringify({ ...each, seq }));
    };
    evidence.runs[0]!.seen = edit(evidence.runs[0]!.seen);
    for (const read of observation.runs[RUN]!.reads) read.data = edit(read.data);
  };
}

const FAULTS: [string, string, Fault][] = [
  [
    'a client that waited in vain',
    'a client gets what it asks for',
    ({ unexpected }) => unexpected.push({ work: 'w', what: 'x' }),
  ],
  ['a second run for a key', 'one run for one key', ({ runs }) => runs[0]!.ids.push('run_9')],
  [
    'a run that is listed twice',
    'one run for one key',
    (_, { listed }) => listed.push({ ...listed[0]!, run_id: 'run_9' }),
  ],
  ['a run that is not listed', 'no run is lost', (_, { listed }) => listed.shift()],
  ['a run that cannot be read', 'no run is lost', (_, { runs }) => delete runs[RUN]],
  [
    'a run of nobody',
    'no run that nobody asked for',
    (_, { listed }) => listed.push({ run_id: 'run_9', input: 'x', status: 'completed', created_at: 999 }),
  ],
  [
    'a lost event',
    'no gap in a log',
    (_, { runs }) => {
      for (const { data } of runs[RUN]!.reads) data.splice(2, 1);
    },
  ],
  [
    'an event that one server has lost',
    'every read is the same',
    (_, { runs }) => runs[RUN]!.reads[1]!.data.pop(),
  ],
  ['an event that nobody was shown', 'every read is the same', ({ runs }) => runs[0]!.seen.pop()],
  [
    'an event with other bytes',
    'every read is the same',
    ({ runs }) => {
      runs[0]!.seen[0] = `${runs[0]!.seen[0]} `;
    },
  ],
  [
    'a read that breaks off',
    'every read is the same',
    (_, { runs }) => {
      runs[RUN]!.reads[0]!.clean = false;
    },
  ],
  ['a second end', 'one end, which is last', insert(13, { event: 'run.cancelled' })],
  ['an event after the end', 'one end, which is last', insert(15, { event: 'run.resumed' })],
  ['a run without an end', 'one end, which is last', change(14, { event: 'run.resumed' })],
  [
    'a status that differs from the end',
    'a run ends as it should',
    (_, { runs }) => {
      runs[RUN]!.run.status = 'cancelled';
    },
  ],
  [
    'a failure after one kill',
    'a run ends as it should',
    change(14, { event: 'run.failed', error_code: 'recovery_limit' }),
  ],
  [
    'an end in spite of an accepted stop',
    'a run ends as it should',
    ({ runs }) => {
      runs[0]!.stop = 'accepted';
    },
  ],
  ['another answer', 'a run ends as it should', change(14, { output: 'Else.' })],
  ['text that is said twice', 'the text is said once', change(11, { discard_from_seq: undefined })],
  [
    'a thought that nobody had',
    'the text is said once',
    insert(0, { event: 'reasoning.available', text: 'Hm.' }),
  ],
  [
    'a call that begins twice',
    'a call begins and ends once',
    insert(3, { event: 'tool.started', tool_call_id: 'again', arguments: { command: 'echo plain1' } }),
  ],
  [
    'a call with two outcomes',
    'a call begins and ends once',
    insert(9, { event: 'tool.completed', tool_call_id: 'call-plain', error: false }),
  ],
  ['a call without an outcome', 'a call begins and ends once', change(8, { tool_call_id: 'other' })],
  [
    'a call that fails though nobody was killed',
    'a call fails for a reason',
    (evidence, observation) => {
      change(8, { error: true })(evidence, observation);
      evidence.disruptions = [];
    },
  ],
  ['a doubled mark', 'no effect twice', ({ marks }) => marks.push({ mark: 'plain1', moment: '1.6' })],
  [
    'a doubled mark of a slot',
    'no effect twice',
    (_, { marks }) => marks.push({ mark: 'slot1', moment: '2.6' }),
  ],
  [
    'a missing file without a word',
    'a completed call has left its files',
    (_, { runs }) => {
      runs[RUN]!.files = [];
    },
  ],
  [
    'a missing file, and a word about later ones',
    'a completed call has left its files',
    (evidence, observation) => {
      observation.runs[RUN]!.files = [];
      change(11, { workspace_restored: true, workspace_as_of_seq: 9 })(evidence, observation);
    },
  ],
  [
    'a denied command that ran',
    'a denied command never runs',
    ({ marks }) => marks.push({ mark: 'denied1', moment: '1' }),
  ],
  [
    'a question with two answers',
    'an answer counts once',
    insert(7, { event: 'approval.responded', request_id: 'apr-1', choice: 'deny' }),
  ],
  ['an answer that did not count', 'an answer counts once', change(6, { choice: 'once' })],
  [
    'a question that is asked again',
    'an answer counts once',
    insert(7, { event: 'approval.request', request_id: 'apr-2', tool_call_id: 'call-denied' }),
  ],
  [
    'an output of a client that is lost',
    'an output of a client is used once',
    change(9, { preview: 'timeout' }),
  ],
  [
    'an output of a client that the model got twice',
    'an output of a client is used once',
    (_, { runs }) => runs[RUN]!.messages.push(runs[RUN]!.messages[3]!),
  ],
  [
    'a turn that is missing',
    'a session has its turns in order',
    (_, { sessions }) => {
      sessions.talk = [];
    },
  ],
  [
    'a message that is missing',
    'a session has its turns in order',
    (_, { sessions }) => sessions.talk!.splice(1, 1),
  ],
  [
    'turns in another order',
    'a session has its turns in order',
    ({ sessions }) => sessions[0]!.runs.unshift(FORK),
  ],
  [
    'text that the transcript lacks',
    'what was said is kept once',
    (_, { runs }) => {
      runs[RUN]!.messages = runs[RUN]!.messages.slice(1);
    },
  ],
  [
    'a result that the transcript has twice',
    'what was said is kept once',
    (_, { runs }) => runs[RUN]!.messages.push(runs[RUN]!.messages[1]!),
  ],
  [
    'a fork of another event',
    'a fork begins with what it promises',
    (_, { runs }) => {
      runs[FORK]!.run.forked_from = { run_id: RUN, seq: 3 };
    },
  ],
  [
    'a fork that lacks what was said',
    'a fork begins with what it promises',
    (_, { runs }) => {
      runs[FORK]!.messages = runs[FORK]!.messages.slice(-1);
    },
  ],
  [
    'a fork that lacks a file',
    'a fork begins with what it promises',
    (_, { runs }) => {
      runs[FORK]!.files = [];
    },
  ],
  [
    'a job that fires twice',
    'a job fires once',
    (_, { listed }) => listed.push({ ...listed[2]!, run_id: 'run_9' }),
  ],
  ['a job that never fires', 'a job fires once', (_, { listed }) => listed.splice(2, 1)],
  ['a job that is still there', 'a job fires once', (_, { jobs }) => jobs.push({ id: 'job-1' } as never)],
  [
    'an upload with other bytes',
    'an upload keeps its bytes',
    (_, { uploads }) => {
      uploads['file-1'] = { status: 200, sha256: 'other' };
    },
  ],
  [
    'an upload that is back',
    'an upload keeps its bytes',
    ({ uploads }) => {
      uploads[0]!.deletion = 'confirmed';
    },
  ],
  [
    'a workspace without its upload',
    'an upload keeps its bytes',
    (_, { runs }) => {
      delete runs[RUN]!.upload;
    },
  ],
  [
    'a slot that has lost a file',
    'a trajectory keeps its files',
    (_, { slots }) => {
      slots.task = [];
    },
  ],
  ['a message that never came', 'a receiver is told, with the same id', ({ webhooks }) => webhooks.pop()],
  [
    'a message with another id',
    'a receiver is told, with the same id',
    ({ webhooks }) =>
      webhooks.push({ ...webhooks[0]!, message: { ...webhooks[0]!.message, id: 'evt_1_99' } }),
  ],
  [
    'a message that says something else',
    'a receiver is told, with the same id',
    ({ webhooks }) => {
      webhooks[0]!.message = { ...webhooks[0]!.message, data: { seq: 5 } } as WebhookMessage;
    },
  ],
  [
    'a lease that is held',
    'nothing is left over',
    (_, observation) => {
      observation.leased = 1;
    },
  ],
  [
    'a file that cannot be read',
    'everything can be read',
    (_, { unreadable }) => unreadable.push({ of: RUN, what: '503' }),
  ],
];

describe('the checker', () => {
  test('finds nothing wrong with sound evidence', () => {
    const { evidence, observation } = sound();
    expect(judge(evidence, observation)).toEqual([]);
  });

  test.each(FAULTS)('finds %s', (_, rule, fault) => {
    const { evidence, observation } = sound();
    fault(evidence, observation);
    expect(judge(evidence, observation).map((violation) => violation.rule)).toContain(rule);
  });

  test.each<[string, Fault]>([
    [
      'a missing file that an event tells of',
      (evidence, observation) => {
        observation.runs[RUN]!.files = [];
        observation.runs[FORK]!.files = [];
        change(11, { workspace_lost: true })(evidence, observation);
      },
    ],
    ['a message that comes twice', ({ webhooks }) => webhooks.push(webhooks[0]!)],
    ['a call that a kill cut off', change(8, { error: true })],
    [
      'a mark that is read in two copies of a workspace',
      (_, { marks }) => marks.push({ mark: 'plain1', moment: '1.5' }),
    ],
    [
      'a job without an answer that never fired',
      ({ jobs }, { listed }) => {
        delete jobs[0]!.id;
        listed.splice(2, 1);
      },
    ],
  ])('accepts %s', (_, fault) => {
    const { evidence, observation } = sound();
    fault(evidence, observation);
    expect(judge(evidence, observation)).toEqual([]);
  });
});
