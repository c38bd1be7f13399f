/**
 * The program inside a container. Its one argument is a `ContainerServerConfig` in JSON. It ends with the connection of
 * its owner, and its container with it. As `relay <socket>` it is a relay to that server (relay/relay.ts).
 */
import type { LocalBackendOptions } from '../../local/local-backend.ts';

/** The settings that a driver passes to the server inside. */
export interface ContainerServerConfig {
  socketPath: string;
  /** Whether a connection to the socket carries many, as a relay needs it (relay/reach-by-relay.ts). */
  multiplexed?: boolean;
  backend: LocalBackendOptions;
  /** The version of the backend. Given if this program comes from an image, which may be older or newer. */
  version?: string;
}

// Node answers this signal by opening a debugger, and commands in the container may be able to send it.
process.on('SIGUSR1', () => {});

const [, , first = '', second = ''] = process.argv;
// Each loads only what it needs: a relay is ready in a third of the time that the server takes.
if (first === 'relay') await import('../relay/relay.ts').then(({ relay }) => relay(second));
else await import('./serve.ts').then(({ serve }) => serve(JSON.parse(first)));
