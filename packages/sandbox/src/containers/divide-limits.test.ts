import { expect, test } from 'vitest';
import { divideLimits } from './divide-limits.ts';

const ABLE = { memoryBytes: true, processes: true, cpus: true } as const;

test('the container limits memory, processes and processors, the server inside the rest', () => {
  const limits = { memoryBytes: 1, processes: 2, cpus: 3, fileSizeBytes: 4 };
  expect(divideLimits({ limits, preferredLimits: { workspaceBytes: 5 } }, ABLE)).toEqual({
    container: { memoryBytes: 1, processes: 2, cpus: 3 },
    inside: { limits: { fileSizeBytes: 4 }, preferredLimits: { workspaceBytes: 5 } },
    unenforced: [],
  });
});

test('sets no limits if none are wanted', () => {
  expect(divideLimits({}, ABLE).container).toEqual({});
});

test('refuses a required limit that the container cannot enforce, and reports an optional one', () => {
  const unable = { ...ABLE, memoryBytes: 'it is out of order' };
  expect(() => divideLimits({ limits: { memoryBytes: 1024 } }, unable)).toThrow(
    /1024 bytes, not enforced.*out of order/,
  );
  const preferred = { limits: {}, preferredLimits: { memoryBytes: 1024, processes: 2 } };
  expect(divideLimits(preferred, unable)).toMatchObject({
    container: { processes: 2 },
    unenforced: [{ limit: 'memoryBytes', by: 'nothing' }],
  });
});

test('refuses an invalid limit', () => {
  expect(() => divideLimits({ limits: { processes: -1 } }, ABLE)).toThrow(/processes/);
});
