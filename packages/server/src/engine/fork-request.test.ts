import { describe, expect, test } from 'vitest';
import { forkPoint } from '../agent/fork-point.ts';
import { Progress } from '../agent/progress.ts';
import type { Message, ToolCallPart } from '../journal/messages.ts';
import type { NewRecord, RunRequest } from '../journal/records.ts';
import { claimedRecord, contextCut, numbered, stepRecord } from '../journal/testing/records.ts';
import { type ForkChanges, toForkRequest } from './fork-request.ts';

const SOURCE = { run_id: 'run_1', seq: 9 };
const REQUEST: RunRequest = { prompt: 'go', session_named: false, shown_input: 'go' };

const call = (id: string, command: string): ToolCallPart => ({
  type: 'tool_call',
  id,
  tool: 'terminal',
  arguments: JSON.stringify({ command }),
});
/** A step that runs the command, up to its outcome. */
const ran = (id: string, command = 'ls'): NewRecord[] => [
  stepRecord([call(id, command)], undefined, 'tool_calls'),
  {
    event: 'tool.completed',
    public: { tool: 'terminal', duration: 0, error: false, preview: '', tool_call_id: id },
    private: { output: `output of ${id}` },
  },
];
const accepted = (request: Partial<RunRequest> = {}): NewRecord => ({
  event: 'run.accepted',
  private: { ...REQUEST, ...request },
});

/** The request of a fork from the end of this log. */
function fork(records: readonly NewRecord[], changes: ForkChanges = {}): RunRequest {
  return toForkRequest(forkPoint(numbered(records), records.length), SOURCE, changes);
}

/** What the model would be asked in a run with this request. */
function conversation(request: RunRequest): readonly Message[] {
  return Progress.replay(numbered([{ event: 'run.accepted', private: request }])).conversation().messages;
}

const isNotice = (message: Message) =>
  message.role === 'user' && typeof message.content === 'string' && message.content.includes('a fork of');

describe('the conversation of a fork', () => {
  const history = [{ role: 'user' as const, content: 'given' }];
  const records = [accepted({ history }), claimedRecord(), ...ran('a'), ...ran('b')];

  test('is that of the run, with a notice about its new sandbox', () => {
    const said = Progress.replay(numbered(records)).conversation().messages;
    const forked = conversation(fork(records));
    expect(forked.slice(0, -1)).toEqual(said);
    expect(isNotice(forked.at(-1)!)).toBe(true);
    expect(fork(records).forked_from).toEqual({ ...SOURCE, pos: records.length - 1 });
  });

  test('is just the prompt before the first step', () => {
    expect(conversation(fork([accepted(), claimedRecord()]))).toEqual([{ role: 'user', content: 'go' }]);
  });

  test('continues with the message of the user, which is then shown as its input', () => {
    const next = { input: 'Use pnpm.', shown: 'Use pnpm.' };
    const request = fork(records, { next });
    expect(conversation(request).at(-1)).toEqual({ role: 'user', content: 'Use pnpm.' });
    expect(request).toMatchObject({ prompt: 'go', shown_input: 'Use pnpm.' });
    expect(fork(records).shown_input).toBe('go');
  });

  test('of a fork has everything once, and another notice only for what that fork has done', () => {
    const first: NewRecord = {
      event: 'run.accepted',
      private: fork(records, { next: { input: 'Again.', shown: 'Again.' } }),
    };
    const unused = conversation(fork([first, claimedRecord()]));
    expect(unused).toEqual(conversation(first.private as RunRequest));
    const used = conversation(fork([first, claimedRecord(), ...ran('c')]));
    expect(used.slice(0, unused.length)).toEqual(unused);
    expect(used.filter(isNotice)).toHaveLength(2);
  });

  test('keeps what was left out for the model, and the earlier turns', () => {
    const context: NewRecord = { event: 'run.context', private: { session: { from: 3, to: 7 }, skipped: 2 } };
    const request = fork([accepted({ session_named: true }), context, contextCut(3), ...ran('a')]);
    expect(request).toMatchObject({
      skipped: 2,
      session_named: true,
      inherited: { session: { from: 3, to: 7 }, cut: { before: 3, omitted: 3 } },
    });
    const messages: Message[] = [{ role: 'user', content: 'of a run without a session' }];
    const copied = fork([accepted({ session_named: true }), { event: 'run.context', private: { messages } }]);
    expect(copied.context).toEqual(messages);
    expect(copied.inherited?.session).toBeUndefined();
  });
});

describe('the terms of a fork', () => {
  const tools = [{ name: 'weather', description: '', parameters: {} }];
  const client_tools = { tools, choice: 'required' as const, parallel: true };

  test('are those of the run, with other instructions if they are given', () => {
    const terms = {
      instructions: 'Be kind.',
      settings: { temperature: 1 },
      output_form: { schema: { type: 'object' } },
    };
    expect(fork([accepted(terms)])).toMatchObject(terms);
    expect(fork([accepted(terms)], { instructions: 'Be brief.' })).toMatchObject({
      ...terms,
      instructions: 'Be brief.',
    });
    const inSession = { instructions: 'Of the session.\n\nBe kind.', session_prompt: 'Of the session.' };
    expect(fork([accepted(inSession)], { instructions: 'Be brief.' }).instructions).toBe(
      'Of the session.\n\nBe brief.',
    );
  });

  test('do not repeat a choice of tools that the run has followed', () => {
    expect(fork([accepted({ client_tools })]).client_tools?.choice).toBe('required');
    expect(fork([accepted({ client_tools }), ...ran('a')]).client_tools).toEqual({
      ...client_tools,
      choice: 'auto',
    });
  });

  test('say which calls were those of the client', () => {
    const named = { ...client_tools, tools: [{ ...tools[0]!, name: 'terminal' }] };
    const request = fork([accepted({ client_tools: named }), ...ran('a')]);
    expect(request.inherited?.client_calls).toEqual(['a']);
    expect(conversation(request).some(isNotice)).toBe(false);
  });

  test('leave behind what belongs to one request', () => {
    const request = fork([
      accepted({ inline: true, traceparent: '00-a-b-01', max_context_messages: 3 }),
      ...ran('a'),
    ]);
    expect(Object.keys(request).sort()).toEqual([
      'forked_from',
      'inherited',
      'prompt',
      'session_named',
      'shown_input',
    ]);
  });

  test('have what the workspace begins with only if it was not in place', () => {
    const workspace = { files: [{ path: 'a', content: 'x' }] };
    const prepared: NewRecord = { event: 'workspace.prepared', private: {} };
    expect(fork([accepted({ workspace }), claimedRecord()]).workspace).toEqual(workspace);
    expect(fork([accepted({ workspace }), claimedRecord(), prepared]).workspace).toBeUndefined();
  });

  test('have a copy of a directory that the run was about to work in', () => {
    const workspace = { mount: 'app' };
    expect(fork([accepted({ workspace }), claimedRecord()]).workspace).toEqual({ directory: 'app' });
  });
});
