/**
 * `todo`: the plan of a run. It is stored only in the conversation: the plan is the result of all successful `todo`
 * calls so far. So it is in the journal like everything else, and a run that continues after a crash has it again.
 */
import { defineTool, InvalidArguments, NOT_BLANK, wrongCall } from '@talaria/sandbox/tools';
import { agentTool } from './agent-tool.ts';
import { type PastCall, parseArguments, type Tool } from './tool.ts';

const TOOL = 'todo';
const STATUSES = ['pending', 'in_progress', 'completed', 'cancelled'] as const;
const MARKS: Record<Status, string> = { pending: ' ', in_progress: '>', completed: 'x', cancelled: '-' };
const MAX_TODOS = 100;
const EXAMPLE = { todos: [{ id: '1', content: 'Read the failing test', status: 'in_progress' }] };

type Status = (typeof STATUSES)[number];

export interface Todo {
  id: string;
  content: string;
  status: Status;
}

type TodoArguments = ReturnType<typeof definition.check>;

const definition = defineTool({
  name: TOOL,
  description:
    'Your plan for this task. With todos it replaces the plan, or with merge changes and adds single entries by ' +
    'their id; without arguments it shows the plan. Use it for work of several steps, and keep it up to date.',
  schema: {
    type: 'object',
    properties: {
      todos: {
        type: 'array',
        maxItems: MAX_TODOS,
        description: 'The entries, in the order of the work',
        items: {
          type: 'object',
          properties: {
            id: { type: 'string', pattern: NOT_BLANK, maxLength: 64, description: 'A short name for it' },
            content: {
              type: 'string',
              pattern: NOT_BLANK,
              maxLength: 1000,
              description: 'What is to be done',
            },
            status: { type: 'string', enum: STATUSES, description: 'How far it is' },
          },
          required: ['id'],
        },
      },
      merge: { type: 'boolean', description: 'Keep the entries that are not named' },
    },
    required: [],
  },
  example: EXAMPLE,
});

export const todo: Tool = agentTool(definition, {
  prepare(args, callsBefore) {
    const { todos } = args;
    return {
      preview: todos === undefined ? 'the plan' : `${todos.length} ${todos.length === 1 ? 'todo' : 'todos'}`,
      async execute() {
        try {
          return { output: describePlan(applyTodos(planOf(callsBefore()), args)), isError: false };
        } catch (error) {
          if (!(error instanceof InvalidArguments)) throw error;
          return { output: error.message, isError: true };
        }
      },
    };
  },
});

/** The plan after these calls. */
export function planOf(calls: readonly PastCall[]): Todo[] {
  let plan: Todo[] = [];
  for (const call of calls) {
    if (call.tool !== TOOL || call.failed) continue;
    try {
      plan = applyTodos(plan, definition.check(parseArguments(call.arguments)));
    } catch (error) {
      // A call of this step that is about to be refused.
      if (!(error instanceof InvalidArguments)) throw error;
    }
  }
  return plan;
}

/** Throws `InvalidArguments` for entries that are incomplete or repeated. */
export function applyTodos(plan: readonly Todo[], { todos, merge }: TodoArguments): Todo[] {
  if (todos === undefined) return [...plan];
  const entries = new Map(merge ? plan.map((entry) => [entry.id, entry]) : []);
  const named = new Set<string>();
  for (const { id, content, status } of todos) {
    if (named.has(id)) throw wrongCall(TOOL, `the id '${id}' comes twice`, EXAMPLE);
    named.add(id);
    const before = entries.get(id);
    const entry = { id, content: content ?? before?.content, status: status ?? before?.status };
    if (entry.content === undefined || entry.status === undefined) {
      throw wrongCall(TOOL, `the entry '${id}' is new and must have both content and status`, EXAMPLE);
    }
    entries.set(id, entry as Todo);
  }
  if (entries.size > MAX_TODOS) {
    throw wrongCall(TOOL, `the plan would have ${entries.size} entries; ${MAX_TODOS} are the most`, EXAMPLE);
  }
  return [...entries.values()];
}

export function describePlan(plan: readonly Todo[]): string {
  if (plan.length === 0) return 'The plan is empty.';
  const counts = STATUSES.map((status) => [plan.filter((entry) => entry.status === status).length, status])
    .filter(([count]) => count !== 0)
    .map(([count, status]) => `${count} ${status}`);
  const lines = plan.map(({ id, content, status }) => `[${MARKS[status]}] ${id}: ${content}`);
  return [`The plan: ${counts.join(', ')}.`, ...lines].join('\n');
}
