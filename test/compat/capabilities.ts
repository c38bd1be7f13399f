/**
 * What every client has to do, and what the result must be. A client shows a capability with one function that takes a
 * task and returns plain JSON; the same expectations apply to all of them, whatever the client's own names are.
 *
 * The prompts are scripts for the test model, so `requests` (what the server asked of the model) shows what the
 * client's request became, and `runs` how many runs it took.
 */
import { expect } from 'vitest';
import type { RecordedRequest, ScriptedTool, Step } from '../support/model-server.ts';
import type { Api, Feature } from './features.ts';

/** What a client is told. In Python it comes as JSON, under the same names. */
export interface Task {
  /** Ends in `/v1`. */
  base_url: string;
  api_key: string;
  model: string;
  /** One for each turn. */
  prompts: string[];
  /** A picture as a data URL. */
  image: string;
  file: { name: string; text: string; data_url: string };
}

export interface Seen {
  api: Api;
  /** The requests that the scripts of this task made of the model, in order. */
  requests: readonly RecordedRequest[];
  /** How many runs were started. */
  runs: number;
}

export interface Capability {
  /** The steps that the model plays, for each prompt. */
  turns: Step[][];
  /** The run is stopped by somebody else once it has asked the model. */
  stopped?: boolean;
  /** The model waits here until the beginning of its answer can be read. */
  gate?: string;
  check(result: unknown, seen: Seen): void;
}

const WEATHER = { city: 'Paris', celsius: 21 };
export const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';
/** A PDF, as far as any client checks: all of them send PDFs, and not all send plain text. */
export const FILE = { name: 'notes.pdf', text: '%PDF-1.4 the meeting is at noon' };

/** The client's own tool. It answers `{"celsius": 21}` for Paris and `{"celsius": 12}` for Oslo. */
const getWeather = (city: string): ScriptedTool => ({ name: 'get_weather', arguments: { city } });
const terminal = (command: string): ScriptedTool => ({ name: 'terminal', arguments: { command } });

let gates = 0;

/** The name of the tool that gives `typed answer by a tool`; each library has its own. */
export function capabilities(outputTool: string): Record<Feature, Capability> {
  // A gate stays open, so every task needs its own.
  const gate = `begun ${++gates}`;
  return {
    text: {
      turns: [[{ text: 'four' }]],
      check(result, seen) {
        expect(result).toEqual({ text: 'four' });
        expectRuns(seen, 1);
      },
    },
    stream: {
      turns: [[{ chunks: ['one ', { gate }, 'two ', 'three'] }]],
      gate,
      check(result, seen) {
        expect(result).toMatchObject({ text: 'one two three' });
        expect((result as { pieces: number }).pieces, 'pieces of text').toBeGreaterThan(1);
        expectRuns(seen, 1);
      },
    },
    'server tools': {
      turns: [[{ tools: [terminal('echo seen')] }, { text: 'I see.' }]],
      check(result, seen) {
        // The client offered a tool of its own, which the test did not ask for.
        expect(result).toEqual({ text: 'I see.', calls: [] });
        expect(toolResults(seen, 1)).toMatch(/seen/);
        expectRuns(seen, 1);
      },
    },
    'server tools in a stream': {
      turns: [[{ text: 'I look.', tools: [terminal('echo seen')] }, { text: 'I see.' }]],
      check(result, seen) {
        expect(result).toMatchObject({ text: expect.stringMatching(/I see\.$/) });
        expect(toolResults(seen, 1)).toMatch(/seen/);
        expectRuns(seen, 1);
      },
    },
    'client tools': {
      turns: [[{ tools: [getWeather('Paris')] }, { text: 'It is 21 degrees.' }]],
      check: expectWeather,
    },
    'client tools in a stream': {
      turns: [[{ tools: [getWeather('Paris')] }, { text: 'It is 21 degrees.' }]],
      check: expectWeather,
    },
    'parallel client tools': {
      turns: [[{ tools: [getWeather('Paris'), getWeather('Oslo')] }, { text: 'Paris is warmer.' }]],
      check(result, seen) {
        const { text, calls } = result as { text: string; calls: { city: string }[] };
        expect(text).toBe('Paris is warmer.');
        expect(calls.map(({ city }) => city).sort()).toEqual(['Oslo', 'Paris']);
        expect(toolResults(seen, 1)).toMatch(/21/);
        expect(toolResults(seen, 1)).toMatch(/12/);
        expectRuns(seen, 1);
      },
    },
    'client and server tools in one step': {
      turns: [[{ tools: [terminal('echo seen'), getWeather('Paris')] }, { text: 'It is 21 degrees.' }]],
      check(result, seen) {
        expectWeather(result, seen);
        expect(toolResults(seen, 1)).toMatch(/seen/);
      },
    },
    'another agent takes over': {
      turns: [[{ tools: [{ name: 'transfer_to_expert', arguments: {} }] }, { text: 'It is 21 degrees.' }]],
      check(result, seen) {
        expect(result).toEqual({ text: 'It is 21 degrees.', agent: 'expert' });
        const [first, second] = seen.requests;
        expect(said(first!.body.messages, 'system').join()).toContain('You are the receptionist.');
        expect(toolNames(first!)).toContain('transfer_to_expert');
        const told = said(second!.body.messages, 'system').join();
        expect(told).toContain('You are the expert.');
        expect(told).not.toContain('You are the receptionist.');
        expect(toolNames(second!)).toContain('get_weather');
        expect(toolNames(second!)).not.toContain('transfer_to_expert');
        expectRuns(seen, 1);
      },
    },
    'JSON schema': {
      turns: [[{ text: JSON.stringify(WEATHER) }]],
      check: expectValue,
    },
    'typed answer by a tool': {
      turns: [[{ tools: [{ name: outputTool, arguments: WEATHER }] }, { text: 'done' }]],
      check: expectValue,
    },
    'JSON object': {
      turns: [[{ text: JSON.stringify(WEATHER) }]],
      check: expectValue,
    },
    'several turns': {
      turns: [[{ text: 'one' }], [{ text: 'two' }]],
      check(result, seen) {
        expect(result).toEqual({ texts: ['one', 'two'] });
        const second = seen.requests.find(({ body }) => said(body.messages, 'assistant').includes('one'));
        expect(second, 'a request to the model that has the first answer in it').toBeDefined();
        expectRuns(seen, 2);
      },
    },
    'turns after server tools': {
      turns: [[{ tools: [terminal('echo seen')] }, { text: 'one' }], [{ text: 'two' }]],
      check(result, seen) {
        expect(result).toEqual({ texts: ['one', 'two'] });
        expect(said(seen.requests.at(-1)!.body.messages, 'assistant')).toContain('one');
        expectRuns(seen, 2);
      },
    },
    images: {
      turns: [[{ text: 'a cat' }]],
      check(result, seen) {
        expect(result).toEqual({ text: 'a cat' });
        expect(JSON.stringify(seen.requests[0]?.body.messages.at(-1))).toContain(IMAGE);
      },
    },
    // If accepted, it is in the workspace. What must not happen is an answer that ignores the file.
    'a file is taken, or refused with a reason': {
      turns: [[{ tools: [terminal(`cat ${FILE.name}`)] }, { text: 'I read it.' }]],
      check(result, seen) {
        if (typeof result === 'object' && result !== null && 'status' in result) {
          expect(result).toEqual({ status: 400, message: expect.stringMatching(/is a file/) });
          expectRuns(seen, 0);
        } else {
          expect(result).toEqual({ text: 'I read it.' });
          expect(toolResults(seen, 1)).toContain(FILE.text);
        }
      },
    },
    errors: {
      turns: [],
      check(result) {
        const statuses = result as Record<string, number>;
        expect(Object.keys(statuses)).toContain('wrong_key');
        const all = { wrong_key: 401, not_found: 404, bad_request: 400 };
        expect(all).toMatchObject(statuses);
      },
    },
    'a failed run is not repeated': {
      // An unreadable response is the server's failure, and many clients then retry.
      turns: [[{ tools: [terminal('echo seen')] }, { malformed: true }]],
      check: expectOneFailure,
    },
    'a stopped run is not repeated': {
      turns: [[{ hang: 'before' }]],
      stopped: true,
      check: expectOneFailure,
    },
    'a failed run in a stream': {
      turns: [[{ tools: [terminal('echo seen')] }, { malformed: true }]],
      check(result, seen) {
        expect(result).toEqual({ error: expect.stringMatching(/./) });
        expectRuns(seen, 1);
      },
    },
  };
}

function expectWeather(result: unknown, seen: Seen): void {
  expect(result).toEqual({ text: 'It is 21 degrees.', calls: [{ city: 'Paris' }] });
  expect(toolResults(seen, 1)).toMatch(/21/);
  // The outputs continue the run that asked for them.
  expectRuns(seen, 1);
}

function expectValue(result: unknown, seen: Seen): void {
  expect(result).toEqual({ value: WEATHER });
  expectRuns(seen, 1);
}

function expectOneFailure(result: unknown, seen: Seen): void {
  expect(result).toEqual({ status: 400 });
  expectRuns(seen, 1);
}

function expectRuns({ runs }: Seen, count: number): void {
  expect(runs, 'runs that were started').toBe(count);
}

/** The tool results that the model got at its step. */
function toolResults({ requests }: Seen, step: number): string {
  const request = requests.find((candidate) => candidate.step === step);
  expect(request, `a request of the model at step ${step}`).toBeDefined();
  return said(request!.body.messages, 'tool').join('\n');
}

function toolNames({ body }: RecordedRequest): string[] {
  return (body.tools ?? []).map((tool) => tool.function.name);
}

function said(messages: RecordedRequest['body']['messages'], role: string): string[] {
  return messages
    .filter((message) => message.role === role)
    .map(({ content }) =>
      typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join(''),
    );
}
