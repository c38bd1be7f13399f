/**
 * Starts one container to find out whether namespaces inside it can isolate its slots from each other. That container
 * stays with the slots, which use it first.
 */
import type { BackendIsolation } from '../backend.ts';
import { SandboxError } from '../errors.ts';
import type { LimitStatus } from '../limits.ts';
import { reasonIn } from '../local/isolation/no-isolation.ts';
import type { ContainerDriver } from './container-driver.ts';
import { type ContainerSlots, NestingError } from './container-slots.ts';

export interface NestingChoice {
  slots: ContainerSlots;
  isolation: BackendIsolation;
  limits: readonly LimitStatus[];
  /** If not, a container is for one slot and ends with it. */
  nested: boolean;
}

const HOW_TO_NEST =
  'let containers make user namespaces (sysctl user.max_user_namespaces, and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0) and have bubblewrap or util-linux in them';

export async function chooseNesting(
  { title, noNesting, mustNest }: ContainerDriver,
  create: (nested: boolean) => ContainerSlots,
  slotsPerContainer: number,
  signal: AbortSignal,
): Promise<NestingChoice> {
  const nested = noNesting === undefined ? await tryNested(title, create(true), signal) : noNesting;
  if (typeof nested !== 'string') return nested;
  if (mustNest !== undefined) {
    throw new SandboxError(
      'isolation_unavailable',
      `Commands would not be isolated, because ${mustNest}: ${HOW_TO_NEST}. Found: ${nested}`,
    );
  }
  if (slotsPerContainer === 1) return await choosePlain(title, create(false), nested, signal);
  const advice = noNesting === undefined ? `, or ${HOW_TO_NEST}` : '';
  throw new SandboxError(
    'isolation_unavailable',
    `${slotsPerContainer} slots in one container cannot be kept apart here: set the slots per container to 1${advice}. Found: ${nested}`,
  );
}

/** The reason why not, if the server inside gives one. */
async function tryNested(
  title: string,
  slots: ContainerSlots,
  signal: AbortSignal,
): Promise<NestingChoice | string> {
  try {
    const { isolation, limits } = await slots.prepare(signal);
    // To the server inside, the container is the host.
    const inside = isolation.description.replace('network of the host', 'network of the container');
    const description = `${title}, and in its containers ${inside}`;
    return { slots, limits, nested: true, isolation: { ...isolation, description } };
  } catch (error) {
    if (error instanceof NestingError) return error.message;
    throw error;
  }
}

async function choosePlain(
  title: string,
  slots: ContainerSlots,
  reason: string,
  signal: AbortSignal,
): Promise<NestingChoice> {
  const { limits } = await slots.prepare(signal);
  const why = reasonIn(reason);
  const description = `${title}: every slot has a container of its own, which isolates its commands and ends with it. In the container they are not isolated from each other (${why}).`;
  return { slots, limits, nested: false, isolation: { kind: 'container', description } };
}
