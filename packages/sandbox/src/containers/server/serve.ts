/** The server inside a container, from its configuration to its socket. */
import { rename, writeFile } from 'node:fs/promises';
import { LocalBackend } from '../../local/local-backend.ts';
import { LISTENING } from '../container-socket.ts';
import { SERVER_PROGRAM } from '../server-program.ts';
import { imageEnvironment } from './image-environment.ts';
import type { ContainerServerConfig } from './main.ts';
import { SandboxServer } from './sandbox-server.ts';

export async function serve(config: ContainerServerConfig): Promise<void> {
  const { socketPath, multiplexed = false, backend: options } = config;
  requireVersion(config.version);
  const backend = new LocalBackend({ ...options, environment: imageEnvironment(process.env) });
  await backend.start();
  const server = new SandboxServer(backend, () => process.exit());
  await server.listen(`${socketPath}.new`, { multiplexed });
  // Under its final name the socket accepts connections from the first moment.
  await rename(`${socketPath}.new`, socketPath);
  // Some runtimes share files with the host, but not sockets. So the host sees by this file that it need not wait any more.
  await writeFile(socketPath + LISTENING, '');
}

/** The protocol between the server and the program here changes between versions. */
function requireVersion(version: string | undefined): void {
  if (version === undefined || version === SERVER_PROGRAM.version) return;
  console.error(
    `The sandbox program here is version ${SERVER_PROGRAM.version}, and the server that uses it is version ${version}; build the image again with talaria sandbox-image.`,
  );
  process.exit(1);
}
