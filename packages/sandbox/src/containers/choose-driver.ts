/**
 * Whether the slots of a container can be kept apart by namespaces inside it, found out by starting one. It stays with
 * the driver, for whoever needs a container next.
 */
import type { BackendIsolation } from '../backend.ts';
import { type DockerDriver, NestingError } from '../docker/docker-driver.ts';
import { SandboxError } from '../errors.ts';
import type { LimitStatus } from '../limits.ts';

export interface DriverChoice {
  driver: DockerDriver;
  isolation: BackendIsolation;
  limits: readonly LimitStatus[];
  /** Without, a container is for one slot and ends with it. */
  nested: boolean;
}

const HOW_TO_NEST =
  'let containers make user namespaces (sysctl user.max_user_namespaces, and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0) and have bubblewrap or util-linux in the image';

export async function chooseDriver(
  create: (nested: boolean) => DockerDriver,
  slotsPerContainer: number,
): Promise<DriverChoice> {
  try {
    return await chooseNested(create(true));
  } catch (error) {
    if (!(error instanceof NestingError)) throw error;
    if (slotsPerContainer === 1) return await choosePlain(create(false), error.message);
    throw new SandboxError(
      'isolation_unavailable',
      `${slotsPerContainer} slots in one container cannot be kept apart here: set the slots per container to 1, or ${HOW_TO_NEST}. Found: ${error.message}`,
      { cause: error },
    );
  }
}

async function chooseNested(driver: DockerDriver): Promise<DriverChoice> {
  const { isolation, limits } = await driver.prepare();
  // To the server inside, the container is the host.
  const inside = isolation.description.replace('network of the host', 'network of the container');
  const description = `Docker, and in its containers ${inside}`;
  return { driver, limits, nested: true, isolation: { ...isolation, description } };
}

async function choosePlain(driver: DockerDriver, reason: string): Promise<DriverChoice> {
  const { limits } = await driver.prepare();
  const description = `Docker: every slot has a container of its own, which ends with it. Inside it commands are not isolated further (${reason})`;
  return { driver, limits, nested: false, isolation: { kind: 'container', description } };
}
