import { expect, test } from 'vitest';
import type { LogRecord } from '../journal/records.ts';
import { Progress } from './progress.ts';
import { workspaceNews } from './workspace-news.ts';

const usesWorkspace = ({ tool }: { tool: string }) => tool !== 'todo';

/** A log in which these calls have completed: at positions 1, 3, 5 and so on, as events 0, 1, 2. */
function logOf(...calls: { tool?: string; interrupted?: boolean }[]): LogRecord[] {
  return calls.flatMap(({ tool = 'terminal', interrupted }, i): LogRecord[] => [
    { event: 'tool.executing', private: { tool_call_id: `c${i}` }, pos: 2 * i, seq: null, at: 0 },
    {
      event: 'tool.completed',
      public: { tool, duration: 0, error: false, preview: '', tool_call_id: `c${i}` },
      private: { output: '', ...(interrupted === undefined ? {} : { interrupted }) },
      ...{ pos: 2 * i + 1, seq: i, at: 0 },
    },
  ]);
}

const outcomesOf = (log: LogRecord[]) => Progress.replay(log).outcomes;

const restored = (pos: number, log: LogRecord[], omitted = 0, lost: 'machine' | 'sandbox' = 'machine') =>
  workspaceNews({ kind: 'restored', pos, omitted, lost }, outcomesOf(log), usesWorkspace);

test('files that are still in place cause no notice, and lost files do', () => {
  expect(workspaceNews({ kind: 'here' }, outcomesOf(logOf({})), usesWorkspace)).toEqual({ payload: {} });
  const lost = workspaceNews({ kind: 'lost' }, outcomesOf(logOf({})), usesWorkspace);
  expect(lost.payload).toEqual({ workspace_lost: true });
  expect(lost.notice).toContain('the workspace is empty now');
});

test('files that were lost with the sandbox are not said to come from another machine', () => {
  const { payload, notice } = restored(3, logOf({}, {}), 0, 'sandbox');
  expect(payload).toEqual({ workspace_restored: true });
  expect(notice).toMatch(
    /^The files of the workspace were lost with the sandbox and restored, as they were after the last/,
  );
  const reverted = workspaceNews({ kind: 'reverted' }, outcomesOf(logOf({})), usesWorkspace);
  expect(reverted.payload).toEqual({ workspace_lost: true });
  expect(reverted.notice).toContain('Those from when that sandbox was opened');
});

test('a snapshot after the last call has all files', () => {
  const { payload, notice } = restored(3, logOf({}, {}));
  expect(payload).toEqual({ workspace_restored: true });
  expect(notice).toContain('as they were after the last tool call that completed');
  expect(notice).not.toContain('copied');
});

test('an older snapshot says how many calls are missing from it, and from which event on', () => {
  expect(restored(1, logOf({}, {}, {})).payload).toEqual({
    workspace_restored: true,
    workspace_as_of_seq: 0,
  });
  expect(restored(1, logOf({}, {}, {})).notice).toContain('without what your last 2 completed tool calls');
  expect(restored(4, logOf({}, {}, {})).payload).toMatchObject({ workspace_as_of_seq: 1 });
  expect(restored(4, logOf({}, {}, {})).notice).toContain('without what your last completed tool call that');
});

test('calls that do not touch files do not count as missing, nor do calls of unknown outcome', () => {
  const log = logOf({}, { tool: 'todo' }, { interrupted: true });
  expect(restored(1, log).payload).toEqual({ workspace_restored: true });
});

test('reports entries that cannot be copied', () => {
  expect(restored(1, logOf({}), 1).notice).toContain('Nor was an entry that cannot be copied');
  expect(restored(1, logOf({}), 3).notice).toContain('Nor were 3 entries that cannot be copied');
});
