/** The contract of `executeBatch`: the requests of one batch do not affect each other. */
import { describe, expect, test } from 'vitest';
import type { ExecutionRequest, ExecutionResult, FailureReason, Slot } from '../backend.ts';
import type { ContractTools } from '../testing/contract-tools.ts';

const MANY = 200;
/** Each kind of request, three times. */
const FEW = 30;
const FEW_SLOTS = 10;
/** If each slot has a container of its own, most of this time is for the start of the containers. */
const LIMIT_MS = 300_000;

/** `across` is how many slots a large batch is for. */
export function describeBatches({ backend, slot, when, withSlots }: ContractTools, across: number): void {
  describe('batches', when('batches'), () => {
    const waitForGo = { command: 'until [ -e go ]; do sleep 0.05; done; echo gone', timeout: 100 };

    const title = 'bad ones among them: each result is its own, in order';

    const few = Math.min(FEW_SLOTS, across);
    test(`${FEW} requests across ${few} slots, ${title}`, { timeout: LIMIT_MS }, () => executeAll(FEW, few));

    test(`${MANY} requests across ${across} slots, ${title}`, { timeout: LIMIT_MS, tags: ['soak'] }, () =>
      executeAll(MANY, across),
    );

    const executeAll = (requests: number, across: number) =>
      withSlots(across, async (slots) => {
        const slotOf = (index: number) => slots[index % across] as Slot;
        const planned = Array.from({ length: requests }, (_, index) => plan(index));
        const early = new Map<number, ExecutionResult>();
        const results = await backend().executeBatch(
          planned.map(({ tool, args }, index): ExecutionRequest => [slotOf(index), tool, args]),
          { onResult: (result, index) => early.set(index, result) },
        );
        for (const [index, { expected }] of planned.entries()) {
          expect(results[index], `request ${index}`).toMatchObject({
            ...expected,
            slotId: slotOf(index).slotId,
          });
          expect(early.get(index)).toEqual(results[index]);
        }
        expect(results).toHaveLength(requests);
        expect(new Set(results.map(({ executionId }) => executionId)).size).toBe(requests);
      });

    test('a result is there before the rest of its batch', async () => {
      const { promise: first, resolve } = Promise.withResolvers<[ExecutionResult, number]>();
      const batch = backend().executeBatch(
        [
          [slot(), 'bash', waitForGo],
          [slot(), 'bash', { command: 'echo quick' }],
        ],
        { onResult: (result, index) => resolve([result, index]) },
      );
      expect(await first).toMatchObject([{ success: true, output: 'quick\n' }, 1]);
      await backend().executeBatch([[slot(), 'write_file', { path: 'go', content: '' }]]);
      expect((await batch).map(({ output }) => output)).toEqual(['gone\n', 'quick\n']);
    });

    test('a request without a slot or a tool spoils no other', async () => {
      const wrong = [null, {}, { slotId: 5 }, 'slot'] as unknown as Slot[];
      const results = await backend().executeBatch([
        ...wrong.map((each): ExecutionRequest => [each, 'bash', { command: 'echo never' }]),
        [slot(), 5 as unknown as string, {}],
        null as unknown as ExecutionRequest,
        [slot(), 'bash', { command: 'echo well' }],
      ]);
      expect(results.map(({ metadata }) => metadata.failure)).toEqual([
        ...Array(6).fill('invalid_request'),
        undefined,
      ]);
      expect(results[6]).toMatchObject({ success: true, output: 'well\n' });
      expect(slot().state).toBe('acquired');
    });

    test.each([Number.NaN, 0, -1, Infinity, '5'])('a timeout of %s is refused', async (timeoutS) => {
      const [result] = await backend().executeBatch([[slot(), 'bash', { command: 'echo never' }]], {
        timeoutS: timeoutS as number,
      });
      expect(result).toMatchObject({ success: false, output: '', metadata: { failure: 'invalid_request' } });
      expect(result?.error).toContain('timeoutS');
    });

    test('aborting one request ends that one alone', async () => {
      const controller = new AbortController();
      const batch = backend().executeBatch(
        [
          [slot(), 'bash', { command: 'sleep 60' }, { signal: controller.signal }],
          [slot(), 'bash', waitForGo],
          [slot(), 'bash', { command: 'echo never' }, { signal: AbortSignal.abort() }],
        ],
        { onResult: (_, index) => index === 0 && release() },
      );
      const release = () => backend().executeBatch([[slot(), 'write_file', { path: 'go', content: '' }]]);
      await expect.poll(() => slot().state).toBe('executing');
      controller.abort();
      const results = await batch;
      expect(results.map(({ metadata }) => metadata.failure)).toEqual(['aborted', undefined, 'aborted']);
      expect(results[1]).toMatchObject({ success: true, output: 'gone\n' });
    });
  });
}

interface Planned {
  tool: string;
  args: Record<string, unknown>;
  expected: Partial<Omit<ExecutionResult, 'metadata'>> & {
    metadata?: { exit_code?: number; failure?: FailureReason };
  };
}

/** Mostly calls that cost no process, so that the suite stays quick on a small machine. */
function plan(index: number): Planned {
  const name = `file ${index}`;
  switch (index % 10) {
    case 0:
      return {
        tool: 'bash',
        args: { command: `echo ${index}; exit ${1 + (index % 7)}` },
        expected: { success: false, output: `${index}\n`, metadata: { exit_code: 1 + (index % 7) } },
      };
    case 1:
      return {
        tool: 'bash',
        args: { command: 'sleep 60', timeout: 0.3 },
        expected: { success: false, metadata: { failure: 'timeout' } },
      };
    case 2:
      return {
        tool: `tool_${index}`,
        args: {},
        expected: { success: false, output: '', metadata: { failure: 'invalid_request' } },
      };
    case 3:
      return {
        tool: 'bash',
        args: { command: `echo ${index}` },
        expected: { success: true, output: `${index}\n` },
      };
    case 4:
      return {
        tool: 'bash',
        args: { command: index },
        expected: { success: false, output: '', metadata: { failure: 'invalid_request' } },
      };
    case 5:
      return { tool: 'read_file', args: { path: name }, expected: { success: false, output: '' } };
    case 6:
      return {
        tool: 'read_file',
        args: { path: `../${name}` },
        expected: { success: false, metadata: { failure: 'invalid_request' } },
      };
    default:
      return {
        tool: 'write_file',
        args: { path: name, content: name },
        expected: { success: true, error: '' },
      };
  }
}
