import { expect, test } from 'vitest';
import { type FurtherTools, type Tool, ToolSet } from './tool.ts';

function tool(name: string): Tool {
  return {
    definition: { name, description: '', parameters: {} },
    prepare: (args) => ({
      preview: `${name} ${JSON.stringify(args)}`,
      execute: async () => ({ output: '', isError: false }),
    }),
  };
}

const names = (tools: ToolSet) => tools.definitions.map(({ name }) => name);

const none = () => [];

test('a tool that comes and goes is offered and callable only while it is there', () => {
  const present: Tool[] = [];
  const further: FurtherTools = {
    list: () => present,
    whyMissing: (name) => (name.startsWith('further') ? `${name} is asleep` : undefined),
  };
  const tools = new ToolSet([tool('fixed')], further);
  expect(names(tools)).toEqual(['fixed']);
  expect(() => tools.prepare('further_1', '{}', none)).toThrow('further_1 is asleep');

  present.push(tool('further_1'));
  expect(names(tools)).toEqual(['fixed', 'further_1']);
  expect(tools.prepare('further_1', '{"a":1}', none).preview).toBe('further_1 {"a":1}');
  expect(() => tools.prepare('other', '{}', none)).toThrow(
    "There is no tool 'other'. Tools: fixed, further_1",
  );

  present.pop();
  expect(names(tools)).toEqual(['fixed']);
  expect(() => tools.prepare('further_1', '{}', none)).toThrow('further_1 is asleep');
});

test('a server tool does not see the calls of a client tool of the same name', () => {
  const told: string[][] = [];
  const listening: Tool = {
    ...tool('process'),
    prepare(args, callsBefore) {
      told.push(callsBefore().map((call) => call.tool));
      return tool('process').prepare(args, callsBefore);
    },
    lostWithSandbox(calls) {
      told.push(calls.map((call) => call.tool));
      return undefined;
    },
  };
  const calls = ['terminal', 'other'].map((name) => ({
    tool: name,
    ofClient: name === 'terminal',
    arguments: '{}',
    failed: false,
    output: '',
  }));
  const ofClient = { name: 'terminal', description: '', parameters: {} };
  const ofServer = new ToolSet([tool('terminal'), listening]);
  for (const tools of [ofServer.with([ofClient]), ofServer]) {
    tools.prepare('process', '{}', () => calls);
    tools.lostWithSandbox(calls);
  }
  expect(told, 'also after the client gave its tool up').toEqual(Array(4).fill(['other']));
});
