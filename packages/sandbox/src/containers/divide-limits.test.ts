import { expect, test } from 'vitest';
import { divideLimits } from './divide-limits.ts';

const ABLE = { memoryBytes: true, processes: true, cpus: true } as const;

test('memory, processes and processors are for the container, the rest for the server inside', () => {
  const limits = { memoryBytes: 1, processes: 2, cpus: 3, fileSizeBytes: 4 };
  expect(divideLimits({ limits, preferredLimits: { workspaceBytes: 5 } }, ABLE)).toEqual({
    container: { memoryBytes: 1, processes: 2, cpus: 3 },
    inside: { limits: { fileSizeBytes: 4 }, preferredLimits: { workspaceBytes: 5 } },
    unenforced: [],
  });
});

test('none where nothing is wanted', () => {
  expect(divideLimits({}, ABLE).container).toEqual({});
});

test('what the container cannot enforce is refused where it has to hold, and told where it need not', () => {
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

test('a limit that is none is refused', () => {
  expect(() => divideLimits({ limits: { processes: -1 } }, ABLE)).toThrow(/processes/);
});
