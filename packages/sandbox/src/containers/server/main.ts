/**
 * The program inside a container. Its one argument is a `ContainerServerConfig` in JSON. It ends with the connection of
 * its owner, and its container with it.
 */
import { rename } from 'node:fs/promises';
import { LocalBackend, type LocalBackendOptions } from '../../local/local-backend.ts';
import { imageEnvironment } from './image-environment.ts';
import { SandboxServer } from './sandbox-server.ts';

/** What a driver hands to the server inside. */
export interface ContainerServerConfig {
  socketPath: string;
  backend: LocalBackendOptions;
}

const { socketPath, backend: options } = JSON.parse(process.argv[2] ?? '') as ContainerServerConfig;
const backend = new LocalBackend({ ...options, environment: imageEnvironment(process.env) });
await backend.start();
const server = new SandboxServer(backend, () => process.exit());
await server.listen(`${socketPath}.new`);
// Under its own name it can be connected to from the first moment.
await rename(`${socketPath}.new`, socketPath);
