import { expect, test } from 'vitest';
import { createNoIsolation } from '../local/isolation/no-isolation.ts';
import { chooseNesting } from './choose-nesting.ts';
import type { ContainerDriver } from './container-driver.ts';
import { type ContainerSlots, NestingError } from './container-slots.ts';

test('a container without namespaces says why, and nothing about the server around it', async () => {
  const { description } = await createNoIsolation('/nowhere', 'bwrap: no new user namespace');
  const create = (nested: boolean) =>
    ({
      prepare: async () => {
        if (nested) throw new NestingError('isolation_unavailable', description);
        return { limits: [] };
      },
    }) as unknown as ContainerSlots;
  const driver = { title: 'Docker with runsc' } as ContainerDriver;
  const { isolation, nested } = await chooseNesting(driver, create, 1, new AbortController().signal);
  expect(nested).toBe(false);
  expect(isolation).toEqual({
    kind: 'container',
    description:
      'Docker with runsc: every slot has a container of its own, which isolates its commands and ends with it. In the container they are not isolated from each other (bwrap: no new user namespace).',
  });
});
