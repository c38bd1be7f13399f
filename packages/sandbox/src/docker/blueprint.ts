/** From the options of a backend to what all its containers have in common. */
import { realpathSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SOCKET_NAME } from '../containers/container-socket.ts';
import { INSIDE } from './container-spec.ts';
import type { DaemonInfo } from './docker-api.ts';
import type { ContainerBlueprint } from './docker-driver.ts';
import type { DockerLimits } from './docker-limits.ts';
import { containerUser, type DockerBackendOptions, poolLimits } from './docker-options.ts';

const PACKAGE = new URL('../..', import.meta.url);
/** The server's program beside this file, in the form this file has: TypeScript here, JavaScript once it was built. */
const ENTRY = new URL(`../containers/server/main${extname(import.meta.url)}`, import.meta.url);

export function blueprintOf(
  options: DockerBackendOptions,
  nested: boolean,
  daemon: DaemonInfo,
  limits: DockerLimits,
): ContainerBlueprint {
  const { image, allowNetwork = false, defaultTimeoutS, outputLimitBytes, spoolLimitBytes } = options;
  return {
    ...{ image, nested, allowNetwork, daemon },
    slots: poolLimits(options).slotsPerContainer,
    limits: limits.container,
    user: containerUser(),
    nodePath: realpathSync(process.execPath),
    packageDir: fileURLToPath(PACKAGE),
    entry: ENTRY.pathname.slice(PACKAGE.pathname.length),
    server: {
      socketPath: `${INSIDE.run}/${SOCKET_NAME}`,
      backend: {
        workspacesDir: INSIDE.workspaces,
        isolation: nested ? 'auto' : 'none',
        allowNetwork,
        ...limits.inside,
        containerLimits: limits.container,
        ...defined({ defaultTimeoutS, outputLimitBytes, spoolLimitBytes }),
      },
    },
  };
}

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
