/** A run in which the scripted model plays some steps to the end, and the results of its tool calls. */
import { type ScriptedTool, type Step, script } from '../support/model-server.ts';
import { endsAs, ofKind, type ServerWithModel } from './server-with-model.ts';

interface ToolMessage {
  role: string;
  content: string;
  tool_call_id: string;
}

/** What the model was told about its calls, at its last request of this prompt. */
export function toldOf(world: Pick<ServerWithModel, 'model'>, prompt: string): ToolMessage[] {
  const requests = world.model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `));
  return requests.at(-1)!.body.messages.filter(({ role }) => role === 'tool') as unknown as ToolMessage[];
}

export async function play(world: ServerWithModel, ...steps: Step[]) {
  const prompt = script(steps);
  const runId = await world.api.create(prompt);
  const { frames, output } = await endsAs(world.api, runId, 'run.completed');
  return {
    runId,
    output,
    started: ofKind(frames, 'tool.started'),
    completed: ofKind(frames, 'tool.completed'),
    told: toldOf(world, prompt),
  };
}

/** Each call in a step of its own, then an answer. */
export function inTurn(...tools: ScriptedTool[]): Step[] {
  return [...tools.map((tool) => ({ tools: [tool] })), { text: 'I see' }];
}

export function call(name: string, args: Record<string, unknown>): ScriptedTool {
  return { name, arguments: args };
}
