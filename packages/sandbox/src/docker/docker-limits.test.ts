import { expect, test } from 'vitest';
import { divideLimits } from './docker-limits.ts';

const OPTIONS = { workspacesDir: '/', image: 'x' };
const ABLE = { NCPU: 2, MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true };

test('memory, processes and processors are for the container, the rest for the server inside', () => {
  const limits = { memoryBytes: 1, processes: 2, cpus: 3, fileSizeBytes: 4 };
  expect(divideLimits({ ...OPTIONS, limits, preferredLimits: { workspaceBytes: 5 } }, ABLE)).toEqual({
    container: { memoryBytes: 1, processes: 2, cpus: 3 },
    inside: { limits: { fileSizeBytes: 4 }, preferredLimits: { workspaceBytes: 5 } },
    unenforced: [],
  });
});

test('a default where nothing is given, and none where nothing is wanted', () => {
  expect(divideLimits(OPTIONS, ABLE).container.memoryBytes).toBeGreaterThan(0);
  expect(divideLimits({ ...OPTIONS, limits: {} }, ABLE).container).toEqual({});
});

test('what the daemon cannot enforce is refused where it has to hold, and told where it need not', () => {
  const unable = { ...ABLE, MemoryLimit: false };
  expect(() => divideLimits({ ...OPTIONS, limits: { memoryBytes: 1024 } }, unable)).toThrow(
    /1024 bytes, not enforced/,
  );
  const preferred = { ...OPTIONS, limits: {}, preferredLimits: { memoryBytes: 1024, processes: 2 } };
  expect(divideLimits(preferred, unable)).toMatchObject({
    container: { processes: 2 },
    unenforced: [{ limit: 'memoryBytes', by: 'nothing' }],
  });
});

test('a limit that is none is refused', () => {
  expect(() => divideLimits({ ...OPTIONS, limits: { processes: -1 } }, ABLE)).toThrow(/processes/);
});
