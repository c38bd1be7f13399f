import { expect, test } from 'vitest';
import { createSandboxTools } from './sandbox-tools.ts';
import { todo } from './todo.ts';
import { TOOLSETS } from './toolsets.ts';

test('every built-in tool is in exactly one set', () => {
  const tools = [...createSandboxTools(() => expect.unreachable('no tool is run'), 300), todo];
  const grouped = TOOLSETS.flatMap((set) => [...set.tools]);
  expect([...grouped].sort()).toEqual(tools.map(({ definition }) => definition.name).sort());
});
